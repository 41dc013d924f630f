"""Why what teams owe differs from their own past: causes that add up to the difference, to the millionth."""

from collections.abc import Collection, Mapping, Sequence

from analytics.reports.details import Cause, Change
from analytics.reports.figures import ZERO, millionths
from analytics.reports.queries import Queries, Row


def spans_before(queries: Queries) -> int:
    """How many spans just before this one have charges, without a hole; 0 where the one before has none."""
    there = {row["number"] for row in queries.rows("charged_spans")}
    return next(back for back in range(len(queries.span.past) + 1) if back + 1 not in there)


def change(
    moves: Sequence[Row], past: Collection[Row], spans: int, names: Mapping[tuple[str, int], Row]
) -> Change | None:
    """The change of what some teams owe, from the rows of `change` and of `past`; None without a span before.

    `names` has what workloads are called.
    """
    if not spans:
        return None
    causes = tuple(
        sorted(
            (
                Cause(
                    row["cause"],
                    millionths(micros),
                    row["workloads"] or 0,
                    _title(row, names),
                    row["team"] or "",
                )
                for row, micros in zip(moves, _parts([row["amount"] for row in moves], spans), strict=True)
            ),
            key=lambda cause: (-abs(cause.amount), cause.kind, cause.title, cause.team),
        )
    )
    now = millionths(sum(row["now_micros"] for row in past))
    return Change(
        spans=spans,
        now=now,
        before=now - sum((cause.amount for cause in causes), ZERO),
        causes=causes,
        held_pms=sum(row["held"] for row in past),
        idle_pms=sum(row["idle"] for row in past),
        held_before_pms=sum(row["held_before"] for row in past),
        idle_before_pms=sum(row["idle_before"] for row in past),
    )


def _parts(amounts: Sequence[int], spans: int) -> list[int]:
    """Each amount ÷ spans as a difference of floors of the running sum, so that they add up to the sum's floor."""
    reached, parts = 0, list[int]()
    for amount in amounts:
        parts.append((reached + amount) // spans - reached // spans)
        reached += amount
    return parts


def _title(row: Row, names: Mapping[tuple[str, int], Row]) -> str:
    if row["workload_id"] is None:
        return ""
    name = names.get((row["cluster"], row["workload_id"]), {})
    if not name.get("name"):
        return f"workload {row['workload_id']:x}"
    return f"{name['kind']} {name['namespace']}/{name['name']}"
