"""The span as finance reads it: accounts, what each team owes and where it is booked, corrections."""

from analytics.reports.details import AccountRow, Books, CentreRow, CorrectionRow
from analytics.reports.figures import millionths
from analytics.reports.queries import Queries

_CORRECTIONS = 50  # the largest


def books(queries: Queries) -> Books:
    """The books of the span, over everything."""
    teams = {row["team"]: row for row in queries.rows("teams")}
    centres: list[CentreRow] = []
    for row in queries.rows("owed_by_team"):
        told = teams.get(row["team"], {"department": "", "cost_centre": ""})
        named = row["base_micros"] + row["shared_micros"] + row["correction_micros"]
        centres.append(
            CentreRow(
                told["cost_centre"],
                told["department"],
                row["team"],
                millionths(row["base_micros"]),
                millionths(row["shared_micros"]),
                millionths(row["owed_micros"] - named),
                millionths(row["correction_micros"]),
            )
        )
    corrections = queries.rows("corrections", most=_CORRECTIONS)
    return Books(
        accounts=tuple(
            AccountRow(
                row["account"],
                row["kind"],
                row["detail"],
                row["measure"],
                row["line_count"],
                millionths(row["micros"]),
            )
            for row in queries.rows("accounts")
        ),
        centres=tuple(sorted(centres, key=lambda row: (row.cost_centre == "", row.cost_centre, row.team))),
        corrections=tuple(
            CorrectionRow(
                row["business_day"],
                row["team"],
                row["account"],
                row["detail"],
                row["corrects"],
                millionths(row["micros"]),
            )
            for row in corrections
        ),
        correction_count=corrections[0]["line_count"] if corrections else 0,
    )
