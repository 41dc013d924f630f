"""The room in which a person's SQL runs: a process of its own, little memory, nothing open but the ledger.

It is started by sql.door alone: the request comes as JSON on stdin, the answer goes as a line of JSON and an
Arrow stream to stdout.
"""

import contextlib
import importlib
import io
import json
import resource
import sys
from pathlib import Path
from typing import Any, cast

import duckdb

from quartermaster.errors import InputError, LedgerError
from quartermaster.lean import without_pandas
from sql import revision
from sql.catalog import Cursor, parse
from sql.faults import understand
from sql.statement import check

# Never shown: who is who (`quartermaster person` does, and notes it).
HIDDEN = frozenset({"people", "people_reads"})
_MIB = 2**20
_BATCH_ROWS = 2_000


def main() -> None:
    """Answer one request. Whatever goes wrong is an answer too, unless the process is killed."""
    without_pandas()
    request = json.load(sys.stdin)
    try:
        head, body = _answer(request)
    except (InputError, LedgerError) as error:
        of_ledger = isinstance(error, LedgerError)
        head, body = {"error": error.what, "hint": error.hint, "of_ledger": of_ledger}, b""
    except (MemoryError, duckdb.OutOfMemoryException):
        head, body = (
            {
                "error": f"the query needs more than {request['memory_mib']} MiB of memory",
                "hint": "ask for less at once",
            },
            b"",
        )
    except duckdb.Error as error:
        head, body = (
            {
                "error": str(error).strip().split("\n\nLINE")[0],
                "hint": "show tables, and describe <table>, tell the names",
            },
            b"",
        )
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + body)
    sys.stdout.buffer.flush()


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    arrow = cast(Any, importlib.import_module("pyarrow"))
    place = parse(Path(request["folder"]), request["catalog"])
    if place.is_missing:
        raise LedgerError(
            f"there is no ledger in {place.folder}", "run quartermaster collect, or quartermaster demo --keep"
        )
    try:
        connection = place.connect(read_only=True)
    except duckdb.Error as error:
        raise understand(error, place.where, "opening").error from error
    with contextlib.closing(connection), place.reading():
        cursor = connection.cursor()
        cursor.execute("use lake")
        revision.check(revision.current(cursor), place.where)
        tables, others = _names(cursor)
        _close(connection, str(place.data), request)
        _limit(request)
        check(cursor, request["query"], tables, others)
        reader = cast(Any, cursor.execute(request["query"])).to_arrow_reader(_BATCH_ROWS)
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
        sink = io.BytesIO()
        with arrow.ipc.new_stream(sink, reader.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    return {"more": more, "columns": reader.schema.names}, sink.getvalue()


def _names(cursor: Cursor) -> tuple[frozenset[str], frozenset[str]]:
    """The tables that may be asked, and every other name that DuckDB would find."""
    found = cursor.execute(
        "select database_name, schema_name, table_name from duckdb_tables() "
        "union all select database_name, schema_name, view_name from duckdb_views()"
    ).fetchall()
    mine = {
        name if schema == "main" else f"{schema}.{name}"
        for database, schema, name in found
        if database == "lake"
    } - HIDDEN
    return frozenset(mine), frozenset(name.casefold() for _, _, name in found)


def _close(connection: Cursor, data: str, request: dict[str, Any]) -> None:
    """Shut what is not needed, then lock the settings."""
    quoted = data.replace("'", "''")
    for setting in (
        f"memory_limit = '{int(request['memory_mib'])}MiB'",
        "threads = 2",
        "temp_directory = ''",
        "python_enable_replacements = false",
        "allow_community_extensions = false",
        f"allowed_directories = ['{quoted}/']",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"set global {setting}")


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
