"""The door for people's SQL: one SELECT, read only, in a process that is killed when it takes too much."""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from quartermaster.errors import InputError, LedgerError
from sql.room import rows_of

# A parameter's type and its value as text (sql.parameters); None: null.
Bound = tuple[str, str | None]


@dataclass(frozen=True)
class Limits:
    """How much a question may take."""

    seconds: int = 30
    memory_mib: int = 1024
    rows: int = 10_000
    answer_mib: int = 64


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Answer:
    """The columns' names, the rows as Python's values, and whether there are more than were fetched."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    more: bool
    seconds: float


def ask(
    folder: Path,
    catalog: str,
    query: str,
    limits: Limits = DEFAULT_LIMITS,
    *,
    parameters: Mapping[str, Bound] | None = None,
    teams: Sequence[str] | None = None,
) -> Answer:
    """The answer to one SELECT over a ledger's tables and views (not `people`), read only.

    Parameters are bound by name; with `teams` only their rows of the stable views are there.
    Raises InputError for what is no such SELECT, what DuckDB refuses, and what exceeds the limits;
    LedgerError where the ledger cannot be opened.
    """
    began = time.monotonic()
    asked = request(folder, catalog, query, limits, parameters=parameters, teams=teams)
    out, killed = _run(json.dumps(asked).encode(), limits)
    head, body = understood(out, limits, killed=killed)
    arrow = cast(Any, importlib.import_module("pyarrow"))
    rows = rows_of(arrow.ipc.open_stream(body).read_all())
    return Answer(head["columns"], rows, head["more"], time.monotonic() - began)


def request(
    folder: Path,
    catalog: str,
    query: str,
    limits: Limits,
    *,
    parameters: Mapping[str, Bound] | None = None,
    teams: Sequence[str] | None = None,
    form: str = "arrow",
) -> dict[str, Any]:
    """What a room is asked."""
    return {
        "folder": str(folder),
        "catalog": catalog,
        "query": query,
        "parameters": dict(parameters or {}),
        "teams": None if teams is None else list(teams),
        "form": form,
        "seconds": limits.seconds,
        "memory_mib": limits.memory_mib,
        "rows": limits.rows,
        "answer_mib": limits.answer_mib,
    }


def understood(out: bytes, limits: Limits, *, killed: bool) -> tuple[dict[str, Any], bytes]:
    """A room's answer: `columns`, `rows` (how many) and `more`, and the rows themselves. Raises as `ask` does."""
    if killed:
        raise InputError(
            f"the query took longer than {limits.seconds} s and was stopped", "ask for less at once"
        )
    head, _, body = out.partition(b"\n")
    try:
        told = cast(dict[str, Any], json.loads(head))
    except ValueError as error:
        what = "the query's process ended without an answer; it may need more than"
        raise InputError(f"{what} {limits.memory_mib} MiB of memory", "ask for less at once") from error
    if "error" in told:
        raise (LedgerError if told.get("of_ledger") else InputError)(told["error"], told["hint"])
    return told, body


def _run(request: bytes, limits: Limits) -> tuple[bytes, bool]:
    """What the room says, and whether it had to be killed for the time it took."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sql.room"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment(),
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(limits.seconds, stop)
    timer.start()
    try:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(request)
            process.stdin.close()
        out = process.stdout.read((limits.answer_mib * 2 + 1) * 2**20)
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(BrokenPipeError):
                cast(Any, pipe).close()
    return out, late.is_set()


def environment() -> dict[str, str]:
    """Nothing of ours but where Python's modules are: no token, no password."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in {"PATH", "LANG", "LC_ALL"} or name.startswith("COVERAGE")
    }
    return kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
