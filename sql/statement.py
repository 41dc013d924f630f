"""What people's SQL may be: exactly one SELECT that names known tables and pure functions, and nothing else.

DuckDB parses it; the tree is walked, and whatever the walk does not know is refused.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb

from quartermaster.config.problem import nearest
from quartermaster.errors import InputError
from sql.catalog import Cursor

FUNCTIONS = frozenset(
    line
    for line in (Path(__file__).parent / "functions.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
_QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_SOURCES = {
    "BASE_TABLE",
    "SUBQUERY",
    "JOIN",
    "TABLE_FUNCTION",
    "EMPTY",
    "EXPRESSION_LIST",
    "PIVOT",
    "SHOW_REF",
    "CTE",
}
_EXPRESSIONS = {
    "CONSTANT", "COLUMN_REF", "FUNCTION", "OPERATOR", "CASE", "CAST", "COMPARISON", "CONJUNCTION", "BETWEEN",
    "SUBQUERY", "STAR", "WINDOW", "COLLATE", "LAMBDA", "LAMBDA_REF", "POSITIONAL_REFERENCE", "DEFAULT", "PARAMETER",
}  # fmt: skip
# A table's catalog and schema as a query may write them, and what its name is called then.
_SCHEMAS = {
    ("", ""): "",
    ("", "main"): "",
    ("", "lake"): "",
    ("lake", "main"): "",
    ("", "reporting"): "reporting.",
    ("lake", "reporting"): "reporting.",
}
_COLUMNS = ("column_names", "using_columns")
_LONGEST = 100_000


@dataclass(frozen=True)
class Read:
    """What a query reads: tables, and the names (lower case) among which its columns are; None: any of them."""

    tables: frozenset[str]
    columns: frozenset[str] | None


def check(
    cursor: Cursor,
    text: str,
    tables: AbstractSet[str],
    others: AbstractSet[str],
    given: AbstractSet[str] = frozenset(),
) -> Read:
    """Look through the text of a query over `tables`; `others` are names that DuckDB would find, too; `given` are the
    names of the parameters that have a value. Gives what it reads.

    Tables of another schema than main are called `schema.table`. Raises InputError that says what is refused.
    """
    if len(text) > _LONGEST:
        raise InputError(f"the query is longer than {_LONGEST} characters", "ask for less at once")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise InputError("the query holds half of a character", "send UTF-8")
    _require_one_select(cursor, text)
    parts = list(_parts(_tree(cursor, text)))
    within = set(_names_within(parts))
    for name in within:
        # It would hide a table from the check where it is not in scope.
        if not name.isidentifier() or name.casefold() in others - tables:
            raise InputError(f"{name!r} cannot be the name of a part of the query", "call it otherwise")
    read: set[str] = set()
    for part in parts:
        _check_part(part, given)
        if part.get("table_name"):
            read |= _check_table(part, tables, within)
    return Read(frozenset(read), _columns(parts))


def _require_one_select(cursor: Cursor, text: str) -> None:
    try:
        kinds = [statement.type for statement in cursor.extract_statements(text)]
    except (duckdb.Error, RuntimeError, ValueError, IndexError) as error:
        raise InputError(
            f"this is no SQL: {error}", "quartermaster sql --list has questions to start from"
        ) from error
    if kinds != [duckdb.StatementType.SELECT]:
        raise InputError(
            "one SELECT is answered here at a time, and nothing else",
            "take out what stands around it; for pivot write sum(x) filter (where …)",
        )


def _tree(cursor: Cursor, text: str) -> Mapping[str, Any]:
    row = cursor.execute("select json_serialize_sql(?)", [text]).fetchone()
    tree = cast(dict[str, Any], json.loads(row[0])) if row else {}
    if tree.get("error", True) or len(tree["statements"]) != 1:
        raise InputError(
            f"this cannot be looked through: {tree.get('error_message', '')}", "write a plain SELECT"
        )
    return tree["statements"][0]


def _parts(root: object) -> Iterator[Mapping[str, Any]]:
    """Every object of the tree."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            part = cast(dict[str, Any], value)
            yield part
            waiting.extend(part.values())
        elif isinstance(value, list):
            waiting.extend(cast(list[object], value))


def _names_within(parts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names that `with` gives to parts of the query."""
    for part in parts:
        for entry in part.get("cte_map", {}).get("map", []):
            yield entry["key"].casefold()
        if part.get("cte_name"):
            yield part["cte_name"].casefold()


def _columns(parts: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
    names: set[str] = set()
    for part in parts:
        if (
            part.get("class") == "STAR"
            or str(part.get("type")) in {"SHOW_REF", "PIVOT"}
            or part.get("ref_type") in {"NATURAL", "POSITIONAL"}
        ):
            return None
        names.update(name.casefold() for key in _COLUMNS for name in part.get(key) or ())
    return frozenset(names)


def _check_part(part: Mapping[str, Any], given: AbstractSet[str]) -> None:
    kind = part.get("type")
    if part.get("class") == "PARAMETER" and part["identifier"] not in given:
        raise InputError(
            f"the parameter {part['identifier']!r} has no value",
            "give it by its name, such as --param team=vision",
        )
    if "class" in part and part["class"] not in _EXPRESSIONS:
        raise InputError(f"{str(part['class']).lower()} is not answered here", "write values out")
    if "function_name" in part and part["function_name"] not in FUNCTIONS | TABLE_FUNCTIONS:
        raise _refused(f"the function {part['function_name']}", nearest(part["function_name"], FUNCTIONS))
    if "class" not in part and isinstance(kind, str):
        if kind.endswith("_NODE") and kind not in _QUERY_NODES:
            raise _refused(kind)
        if "alias" in part and "sample" in part and kind not in _SOURCES:
            raise _refused(kind)
        if kind == "TABLE_FUNCTION" and part["function"].get("function_name") not in TABLE_FUNCTIONS:
            raise _refused(f"the table function {part['function'].get('function_name')}")


def _check_table(
    part: Mapping[str, Any], tables: AbstractSet[str], within: AbstractSet[str]
) -> AbstractSet[str]:
    """The table that the part reads; none, where it is a part of the query itself."""
    name = str(part["table_name"])
    if part["type"] == "SHOW_REF":
        shown = name.strip('"_')
        if shown != "tables":
            raise _refused(f"show {shown}")
        return tables
    home = (part.get("catalog_name", "").casefold(), part.get("schema_name", "").casefold())
    schema = _SCHEMAS.get(home)
    if part["type"] != "BASE_TABLE" or schema is None:
        raise _refused(f"{'.'.join(filter(None, (*home, name)))}")
    name = f"{schema}{name}"
    if name.casefold() in tables:
        return {name.casefold()}
    if name.casefold() not in within:
        guess = nearest(name, tables)
        what = f"there is no table {name!r} to be asked"
        raise InputError(
            what, f"did you mean {guess}? show tables lists them" if guess else "show tables lists them"
        )
    return frozenset()


def _refused(what: str, guess: str = "") -> InputError:
    return InputError(
        f"{what} is not answered here", f"did you mean {guess}?" if guess else "write a plain SELECT"
    )
