"""What a caller with teams of their own may ask: their rows of the stable views, copied before their query is run.

The copy is the wall. A filter in a view would not be one: DuckDB may evaluate the query's own conditions before it, and
an error of those (`team::integer`) quotes a row that the caller must not see.
"""

from collections.abc import Iterable, Sequence

from sql.catalog import Cursor, quote
from sql.described import described
from sql.statement import Read

# The views that a team may ask, and the columns of which one must name it; none: the rows are everybody's.
SCOPED: dict[str, tuple[str, ...]] = {
    "reporting.acts": ("team",),
    "reporting.costs": ("team",),
    "reporting.findings": ("team",),
    "reporting.guarantees": ("team",),
    "reporting.lending_by_hour": ("lender", "borrower"),
    "reporting.prices": (),
    "reporting.quota_by_hour": ("team",),
    "reporting.tariffs": (),
    "reporting.teams": ("team",),
    "reporting.usage_by_day": ("team",),
    "reporting.usage_by_hour": ("team",),
    "reporting.workloads": ("team",),
}


def narrow(cursor: Cursor, read: Read, teams: Sequence[str]) -> None:
    """Copy the teams' rows of the views that are read into DuckDB's memory, and let go of the ledger.

    Afterwards `reporting.<view>` is the copy, and no other row is within reach of the process. Of a view with columns
    that are all named only those are copied. The tables of `read` are of SCOPED.
    """
    cursor.execute("create schema memory.reporting")
    cursor.execute("use memory.reporting")
    for name in sorted(read.tables):
        where, columns = _condition(SCOPED[name], teams), ", ".join(_chosen(name, read))
        cursor.execute(f"create table memory.{name} as select {columns} from lake.{name} where {where}")  # noqa: S608
    cursor.execute("detach lake")


def _chosen(view: str, read: Read) -> list[str]:
    there = [column.name for column in described()[view].columns]
    chosen = [name for name in there if read.columns is None or name in read.columns]
    return chosen or there[:1]


def _condition(columns: Iterable[str], teams: Sequence[str]) -> str:
    if not columns:
        return "true"
    mine = ", ".join(quote(team) for team in teams)
    return " or ".join(f"{column} in ({mine})" for column in columns) if teams else "false"
