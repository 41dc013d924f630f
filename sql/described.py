"""What docs/schema.md says of each table, view and column: the page is the one source of the ledger's comments.

The package carries the page as sql/schema.md, which in a checkout is a link to it.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parent / "schema.md"
_HEADING = re.compile(r"### (?P<name>[\w.]+)(?: · view (?P<view>\w+))?")
_ROW = re.compile(r"\| (?P<name>\w+) \| (?P<type>[A-Z][A-Z0-9(), ]*) \| (?P<what>.+) \|")
_UNIT = re.compile(r"\| `(?P<ending>\w+)` \| (?P<unit>.+) \|")
_SOURCE, _EXAMPLE = "Source: ", "Example: "


@dataclass(frozen=True)
class Column:
    """A column: its type in DuckDB's words, what it is, and its unit by the end of its name (empty: none)."""

    name: str
    type: str
    what: str
    unit: str = ""

    @property
    def comment(self) -> str:
        """What the ledger says of it."""
        return f"{_plain(self.what)} [{_plain(self.unit)}]" if self.unit else _plain(self.what)


@dataclass(frozen=True)
class Described:
    """A table or view: what a row is, who writes it, a question to it, its columns in order."""

    name: str
    grain: str
    source: str
    example: str
    columns: tuple[Column, ...]
    is_view: bool = False

    @property
    def comment(self) -> str:
        """What the ledger says of it; of a view also its columns, for DuckLake keeps no comments on those."""
        told = [_plain(self.grain)]
        told += [f"{name}{text}" for name, text in ((_SOURCE, self.source), (_EXAMPLE, self.example)) if text]
        if self.is_view:
            told += [f"{column.name}: {column.comment}" for column in self.columns]
        return "\n".join(told)


def page() -> str:
    """The page's text."""
    return _PAGE.read_text(encoding="utf-8")


@cache
def described() -> dict[str, Described]:
    """Every table and view of docs/schema.md by name; those of the schema reporting are called `reporting.<name>`."""
    return parse(page())


def parse(text: str) -> dict[str, Described]:
    """The same of a page's text."""
    units = {found["ending"]: found["unit"] for found in _UNIT.finditer(text)}
    found: dict[str, Described] = {}
    for part in re.split(r"\n(?=### )", text)[1:]:
        section = part.split("\n## ")[0]
        heading = _HEADING.fullmatch(section.splitlines()[0])
        if heading is None:
            continue
        lines = [line for line in section.splitlines()[1:] if line and not line.startswith("|")]
        told = {
            word: next((line.removeprefix(word) for line in lines if line.startswith(word)), "")
            for word in (_SOURCE, _EXAMPLE)
        }
        grain = " ".join(line for line in lines if not line.startswith((_SOURCE, _EXAMPLE)))
        columns = tuple(
            Column(row["name"], row["type"], row["what"], _unit(row["name"], units))
            for row in _ROW.finditer(section)
        )
        for name in filter(None, heading.groups()):
            is_view = name == heading["view"] or "." in name or grain.startswith("A view")
            found[name] = Described(
                name, grain, told[_SOURCE], told[_EXAMPLE].strip("`"), columns, is_view=is_view
            )
    return found


def _unit(name: str, units: dict[str, str]) -> str:
    fitting = [ending for ending in units if name.endswith(ending)]
    return units[max(fitting, key=len)] if fitting else ""


def _plain(text: str) -> str:
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("`", "")
