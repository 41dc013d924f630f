"""The forms of a report as files: their bytes, their names."""

import json
import re
from enum import StrEnum
from hashlib import sha256

from analytics.reports.figures import Report

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60


class Form(StrEnum):
    """In which form a report is a file; its name is the file's ending."""

    HTML = "html"
    PDF = "pdf"
    XLSX = "xlsx"
    CSV = "csv"
    JSON = "json"


def written(report: Report, form: Form) -> bytes:
    """The report in the form, as the bytes of a file."""
    match form:
        case Form.HTML:
            from analytics.reports.html import render

            return render(report).encode()
        case Form.PDF:
            from analytics.reports.paper import to_pdf

            return to_pdf(report)
        case Form.XLSX:
            from analytics.reports.workbook import to_xlsx

            return to_xlsx(report)
        case Form.CSV:
            from analytics.reports.spreadsheet import to_csv

            return to_csv(report).encode()
        case Form.JSON:
            from analytics.reports.document import to_document

            return (json.dumps(to_document(report), indent=2) + "\n").encode()


def file_name(report: Report, form: Form) -> str:
    """`gpu-report-2026-W48-team-vision.pdf`: letters and digits alone, and no two audiences have the same."""
    audience = report.audience
    name = _UNFIT.sub("-", audience.name)[:_LONGEST]
    if name != audience.name:
        name = f"{name}-{sha256(audience.name.encode()).hexdigest()[:8]}"
    whose = "-".join(part for part in (audience.kind.value, name) if part)
    return f"gpu-report-{report.span}-{whose}.{form.value}"
