"""Past use: what each team borrowed so far, as far as it still counts, and what is promised with it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from enforcer.book import rows
from enforcer.snapshot import Promise, Snapshot
from quartermaster.config.policy import PastUsePart
from sql.catalog import Cursor

Past = Mapping[tuple[str, str], int]  # parts by team and pool
_FORGOTTEN = 33  # half-lives after which nothing is left


def past_use(cursor: Cursor, cluster: str, at_ms: int, terms: PastUsePart | None) -> Past:
    """The average that each team borrowed in a pool, weighted by how recent it is, times what counts of it.

    It is of the hours before `at_ms` that are rolled up; an hour counts from its middle. Somebody who borrowed 8 GPUs
    for ever is remembered with 8 GPUs. Between whole half-lives the weight falls in a straight line, so that all stays
    in whole numbers: at most 6.1 % above the curve. Nothing without `terms`.
    """
    if terms is None:
        return {}
    given = {
        "cluster": cluster,
        "at_ms": at_ms,
        "half_life_ms": terms.half_life_ms,
        "counts_permille": terms.counts,
        "forgotten": _FORGOTTEN,
    }
    found = rows(cursor, "borrowed", given)
    return {(row["team"], row["pool"]): row["parts"] for row in found.iter_rows(named=True)}


def with_past(snapshot: Snapshot, past: Past) -> Snapshot:
    """The snapshot with what its teams are remembered to have borrowed."""
    return replace(snapshot, promises=tuple(_remembered(snapshot.promises, past)))


def _remembered(promises: Iterable[Promise], past: Past) -> Iterable[Promise]:
    return (replace(each, remembered_parts=past.get((each.team, each.pool), 0)) for each in promises)
