"""Persons in a report: whose its workloads are, where the configuration allows it; who read it is recorded."""

from collections.abc import Sequence
from dataclasses import replace

from analytics.reports.figures import Report, WorkloadRow
from sql.ledger import Ledger
from sql.people import names_of_workloads


def with_persons(ledger: Ledger, reports: Sequence[Report], reader: str, now_ms: int) -> list[Report]:
    """The reports, with the names of the persons whose workloads they list. That `reader` read each name is recorded
    before: the ledger is open for writing. Raises LedgerError when it cannot be.
    """
    listed = {row.workload_id for report in reports for row in _rows(report)}
    spans = ", ".join(dict.fromkeys(report.span for report in reports))
    names = names_of_workloads(ledger, sorted(listed), reader, f"report {spans}", now_ms)

    def named(row: WorkloadRow) -> WorkloadRow:
        return replace(row, person=names.get((row.cluster, row.workload_id), ""))

    return [
        replace(
            report,
            by_workload=tuple(map(named, report.by_workload)),
            idlest=tuple(replace(row, workload=named(row.workload)) for row in report.idlest),
        )
        for report in reports
    ]


def _rows(report: Report) -> list[WorkloadRow]:
    return [*report.by_workload, *(row.workload for row in report.idlest)]
