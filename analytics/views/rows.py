"""The pages' queries: the rows of sql/queries/<subject>/<name>.sql, with the parameters that its text names."""

from functools import cache
from importlib.resources import files
from typing import Any

from sql.ledger import Cursor

Row = dict[str, Any]


def rows(cursor: Cursor, subject: str, name: str, **given: object) -> list[Row]:
    """Every row, by column. Of what is `given` only what the query names is bound."""
    text = _text(subject, name)
    bound = {key: value for key, value in given.items() if f"${key}" in text}
    found = cursor.execute(text, bound) if bound else cursor.execute(text)
    columns = [column[0] for column in found.description]
    return [dict(zip(columns, values, strict=True)) for values in found.fetchall()]


@cache
def _text(subject: str, name: str) -> str:
    return (files("sql") / "queries" / subject / f"{name}.sql").read_text(encoding="utf-8")
