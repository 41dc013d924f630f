"""Names behind pseudonyms, for who answers for a team; that they looked is recorded."""

from collections.abc import Mapping

from analytics.reports.tables import Column, Kind, Table
from analytics.scope import Scope
from quartermaster.person import pseudonym
from sql.ledger import Ledger
from sql.people import names_of_workloads


def named(
    ledger: Ledger,
    owned: Scope,
    team: str,
    persons: Mapping[tuple[str, int], int],
    reader: str,
    *,
    now_ms: int,
) -> Table:
    """The persons of a team's workloads (by cluster and id) by name, as far as the ledger has names.

    `reader` is a pseudonym. Raises LedgerError, and tells nothing then; InputError for a team that the reader does not
    answer for.
    """
    owned.require(team)
    ids = sorted({workload_id for _, workload_id in persons})
    found = names_of_workloads(ledger, ids, reader, f"page of team {team}", now_ms)
    rows = sorted({(pseudonym(persons[each]), name) for each, name in found.items() if each in persons})
    return Table(
        "names",
        "Names",
        "",
        (Column("Pseudonym", Kind.TEXT), Column("Name", Kind.TEXT)),
        tuple(rows),
        empty="The ledger has no name of any of them.",
    )
