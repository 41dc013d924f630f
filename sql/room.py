"""The room in which a person's SQL runs: a process of its own, little memory, nothing open but the ledger.

It answers one request and ends. `sql.door` starts one a question (the request comes as JSON on stdin); `sql.rooms`
keeps some that have opened the ledger already. The answer is a line of JSON and the rows in the form asked for.
"""

import contextlib
import importlib
import io
import json
import re
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb

from quartermaster.errors import InputError, LedgerError
from quartermaster.lean import without_pandas
from sql import revision
from sql.answers import csv_text, json_text
from sql.catalog import Catalog, Cursor, parse
from sql.faults import understand
from sql.parameters import value
from sql.scope import SCOPED, narrow
from sql.statement import Read, check

# Never shown: who is who (`quartermaster person` does, and notes it), and what opens the door.
HIDDEN = frozenset({"people", "people_reads", "tokens", "tokens_versions"})
_MIB = 2**20
_BATCH_ROWS = 2_000
_TABLES = (Path(__file__).parent / "queries" / "door" / "tables.sql").read_text(encoding="utf-8")
_COPIED = (
    "your teams' rows are copied before the question runs: name the columns that it needs instead of *, or ask a view "
    "by day"
)
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_PATH = re.compile(r"(?:/[^/\s'\":]+){2,}/?")


@dataclass(frozen=True)
class Room:
    """An open ledger, read only, and what may be asked of it."""

    place: Catalog
    connection: Cursor
    tables: frozenset[str]
    others: frozenset[str]
    folders: tuple[str, ...]  # of the tables that may be asked


def main() -> None:
    """Answer the request on stdin. Whatever goes wrong is an answer too, unless the process is killed."""
    without_pandas()
    request = json.load(sys.stdin)
    sys.stdout.buffer.write(told(request, None))
    sys.stdout.buffer.flush()


def open_room(folder: str, catalog: str, *, is_checked: bool = False) -> Room:
    """Open the ledger, read only; its revision is looked at, unless somebody has. Raises LedgerError."""
    place = parse(Path(folder), catalog)
    if place.is_missing:
        raise LedgerError(
            f"there is no ledger in {place.folder}", "run quartermaster collect, or quartermaster demo --keep"
        )
    try:
        connection = place.connect(read_only=True)
    except duckdb.Error as error:
        raise understand(error, place.where, "opening").error from error
    try:
        with place.reading():
            connection.execute("use lake")
            if not is_checked:
                revision.check(revision.current(connection), place.where)
            return Room(place, connection, *_learn(connection, place))
    except BaseException:
        connection.close()
        raise


def told(request: dict[str, Any], room: Room | None) -> bytes:
    """The answer to a request, or what was wrong with it; without a room one is opened."""
    where, has_waited = str(Path(request["folder"]).absolute()), room is not None
    try:
        room = room or open_room(request["folder"], request["catalog"])
        with contextlib.closing(room.connection), room.place.reading():
            if has_waited:  # the ledger may have been upgraded since
                revision.check(revision.current(room.connection), room.place.where)
            head, body = _answer(room, request)
    except (InputError, LedgerError) as error:
        of_ledger = isinstance(error, LedgerError)
        head, body = {"error": error.what, "hint": error.hint, "of_ledger": of_ledger}, b""
    except (MemoryError, duckdb.OutOfMemoryException):
        what = f"the query needs more than {request['memory_mib']} MiB of memory"
        hint = "ask for less at once" if request.get("teams") is None else _COPIED
        head, body = {"error": what, "hint": hint}, b""
    except duckdb.Error as error:
        head, body = (
            {"error": _words(error, where), "hint": "show tables, and describe <table>, tell the names"},
            b"",
        )
    return json.dumps(head).encode() + b"\n" + body


def _words(error: duckdb.Error, where: str) -> str:
    """What DuckDB says, without where it happened: no stack, no file's path."""
    text = str(error).strip().split("\n\n")[0]
    return _PATH.sub("…", text.replace(where, "…"))


def _answer(room: Room, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    cursor, teams = room.connection, cast(list[str] | None, request.get("teams"))
    given: dict[str, object] = {
        name: None if text is None else value(kind, text, name)
        for name, (kind, text) in cast(dict[str, Any], request.get("parameters") or {}).items()
    }
    _limit(request)
    tables = room.tables if teams is None else room.tables & SCOPED.keys()
    query = request["query"]
    if _SHOW_TABLES.fullmatch(query):
        query, given["names"] = "select unnest($names) as name", sorted(tables)
        read = Read(frozenset(), frozenset())
    else:
        read = check(cursor, query, tables, room.others, given.keys())
    cursor.execute(f"set global memory_limit = '{int(request['memory_mib'])}MiB'")
    cursor.execute("set global temp_directory = ''")  # what does not fit is refused, not laid on the disk
    if teams is not None:
        narrow(cursor, read, teams)
    _close(cursor, room.folders if teams is None else ())
    reader = cast(Any, cursor.execute(query, given or None)).to_arrow_reader(_BATCH_ROWS)
    batches, rows, size, more = list[Any](), 0, 0, False
    for batch in reader:
        left = request["rows"] - rows
        more = batch.num_rows > left
        batches.append(batch.slice(0, left))
        rows, size = rows + batches[-1].num_rows, size + batch.nbytes
        if size > request["answer_mib"] * _MIB:
            raise InputError(
                f"the answer is larger than {request['answer_mib']} MiB", "ask for fewer columns or rows"
            )
        if more:
            break
    body = _body(request.get("form", "arrow"), reader.schema, batches, more=more)
    return {"more": more, "columns": reader.schema.names, "rows": rows}, body


def _body(form: str, schema: Any, batches: Sequence[Any], *, more: bool) -> bytes:  # noqa: ANN401
    arrow = cast(Any, importlib.import_module("pyarrow"))
    if form == "arrow":
        sink = io.BytesIO()
        with arrow.ipc.new_stream(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return sink.getvalue()
    table = arrow.Table.from_batches(batches, schema)
    rows = rows_of(table)
    text = csv_text(schema.names, rows) if form == "csv" else json_text(schema.names, rows, more=more)
    return text.encode("utf-8", "backslashreplace")


def rows_of(table: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - pyarrow has no types
    """An Arrow table's rows as Python's values. Raises InputError for a value that has no form there."""
    arrow = cast(Any, importlib.import_module("pyarrow"))
    try:
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    except (arrow.ArrowException, ValueError, OverflowError) as error:
        raise InputError(f"a value in the answer has no form here: {error}", "cast it to varchar") from error


def _learn(cursor: Cursor, place: Catalog) -> tuple[frozenset[str], frozenset[str], tuple[str, ...]]:
    """The tables that may be asked, every other name that DuckDB would find, and the folders of the tables' files:
    nothing else may be read, not even by a way that nobody thought of. (duckdb_tables() takes 0.3 s for it.)"""
    found = cursor.execute(_TABLES).fetchall()
    mine = {name if schema == "main" else f"{schema}.{name}": path for schema, name, path in found}
    views = cursor.execute("select view_name from duckdb_views()").fetchall()
    others = {name.casefold() for _, name, _ in found} | {name.casefold() for (name,) in views}
    folders = [f"{place.data}/{path}" for name, path in mine.items() if path and name not in HIDDEN]
    return frozenset(mine.keys() - HIDDEN), frozenset(others), tuple(folders)


def _close(cursor: Cursor, folders: Sequence[str]) -> None:
    """Shut what is not needed, then lock the settings."""
    allowed = ", ".join("'" + folder.replace("'", "''") + "'" for folder in folders)
    for setting in (
        "threads = 2",
        "python_enable_replacements = false",
        "allow_community_extensions = false",
        f"allowed_directories = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        cursor.execute(f"set global {setting}")


def _limit(request: dict[str, Any]) -> None:
    """What the kernel allows from now on: memory, processor time, no core file."""
    room = _address_space() + (int(request["memory_mib"]) + 256) * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    seconds = int(request["seconds"]) * 2 + 2
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 2**31
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
