"""Which hours of a cluster what came since a snapshot can have changed: where old and new versions differ."""

import re
from pathlib import Path

import sql
from analytics.measure import FOREVER_MS, Cursor
from quartermaster.clock import HOUR_MS, to_datetime

_ROOM = Path(sql.__file__).parent
# The tables of versions that usage is made of: view, what names a thing in it, the query of what it touches.
_OF_CLUSTERS = (
    ("nodes", "node", "here"),
    ("devices", "device_id", "here"),
    ("authority", "authority_id", "here"),
    ("quotas", "quota_id", "here"),
    ("demand", "demand_id", "here"),
    ("holdings", "holding_id", "holdings"),
    ("series", "series_id", "gaps"),
    ("gaps", "gap_id", "gaps"),
)
_OF_ALL = (("team_rules", "rule_id", "here"), ("thresholds", "threshold_id", "here"))
_NOT_TOLD = {"cluster", "start_at", "end_at", "revision", "recorded_at"}


def longest_new_hold_ms(cursor: Cursor, cluster: str, after: int, now: int) -> int:
    """The longest that a sample speaks which came in the snapshots after … now; 0 without one."""
    query = (
        "select max(hold_ms) from "
        "ducklake_table_insertions('lake', 'main', 'samples', ?::bigint, ?::bigint) where cluster = ?"
    )
    row = cursor.execute(query, [after, now, cluster]).fetchone()
    return int(row[0] or 0) if row else 0


class Touched:
    """What came to one cluster in the snapshots `after` (the first) to `now` (the last), and what it touches.

    `longest_hold_ms` is the longest that any of the cluster's samples speaks. The cursor stands in a ledger.
    """

    def __init__(self, cursor: Cursor, cluster: str, after: int, now: int, longest_hold_ms: int) -> None:
        self._cursor = cursor
        self._longest_hold_ms = longest_hold_ms
        self._given: dict[str, object] = {
            "cluster": cluster,
            "after": after,
            "now": now,
            "longest_hold_ms": longest_hold_ms,
            "forever": FOREVER_MS,
            "hour_ms": HOUR_MS,
        }

    def hours(self, from_ms: int, until_ms: int) -> list[int]:
        """The starts, in epoch ms, of the hours of [from, until) to be written anew: never one too few."""
        self._cursor.execute("create or replace temp table touched (from_ms bigint, until_ms bigint)")
        for view, entity, query in _OF_CLUSTERS:
            self._compare(view, entity, query, "cluster = $cluster")
        for view, entity, query in _OF_ALL:
            self._compare(view, entity, query, "true")
        if self._lay_versions("allocations", "allocation_id", "cluster = $cluster"):
            self._run("touched_allocations")
        if self._lay_versions("workloads", "workload_id", "cluster = $cluster"):
            self._run("touched_workloads")
        self._run("touched_cuts")
        self._run("touched_samples", before_at=to_datetime(until_ms + self._longest_hold_ms))
        self._run("touched_hours", from_ms=from_ms, until_ms=until_ms)
        return [row[0] for row in self._cursor.fetchall()]

    def _compare(self, view: str, entity: str, query: str, here: str) -> None:
        if not self._lay_versions(view, entity, here):
            return
        columns = [row[0] for row in self._cursor.sql(f"describe {view}_versions").fetchall()]
        payload = ", ".join(name for name in columns if name not in _NOT_TOLD | {entity})
        end = "coalesce(epoch_ms(end_at), $forever)"
        if view != "gaps":
            next_start = (
                f"lead(epoch_ms(start_at), 1, $forever) over (partition by {entity} order by start_at)"
            )
            end = f"least({end}, {next_start})"
        for age in ("old", "new"):
            self._execute(
                f"create or replace temp table {age}_told as select {entity} as entity, "  # noqa: S608
                f"epoch_ms(start_at) as s, {end} as e, hash({payload}) as payload from {age}_current"
            )
        self._run("touched_spans")
        self._run(
            f"touched_{query}", may_move_labels=view in {"nodes", "devices"}, may_hold_quotas=view == "gaps"
        )

    def _lay_versions(self, view: str, entity: str, here: str) -> bool:
        """Make old_current and new_current: the view over what was told before, and over all.

        Both hold only the things that are told of anew. Returns False when nothing is told anew.
        """
        table = f"{view}_versions"
        self._execute(
            "create or replace temp table fresh_rows as "  # noqa: S608
            f"select rowid as fresh_id, {entity} as fresh_entity from "
            f"ducklake_table_insertions('lake', 'main', '{table}', $after::bigint, $now::bigint) where {here}"
        )
        if not self._cursor.sql("select 1 from fresh_rows limit 1").fetchone():
            return False
        self._execute(
            "create or replace temp table new_versions as "  # noqa: S608
            f"select *, rowid as version_id from {table} "
            f"where {here} and {entity} in (select fresh_entity from fresh_rows)"
        )
        self._execute(
            "create or replace temp table old_versions as "
            "select * from new_versions where version_id not in (select fresh_id from fresh_rows)"
        )
        text = (_ROOM / "views" / f"{view}.sql").read_text(encoding="utf-8")
        for age in ("old", "new"):
            self._execute(
                f"create or replace temp table {age}_current as {text.replace(table, f'{age}_versions')}"
            )
        return True

    def _run(self, query: str, **more: object) -> None:
        self._execute((_ROOM / "queries" / "usage" / f"{query}.sql").read_text(encoding="utf-8"), **more)

    def _execute(self, text: str, **more: object) -> None:
        given = self._given | more
        self._cursor.execute(text, {name: given[name] for name in set(re.findall(r"\$([a-z_]+)", text))})
