"""Shared by every test: DuckDB on one thread, Hypothesis' profiles, and the real servers (tests/servers)."""

import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Generator
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.servers.plugin"]

_connect = duckdb.connect


def _connect_on_one_thread(
    database: Any = ":memory:", read_only: bool = False, config: dict[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection with one thread, unless another number is asked for.

    A ledger's every query asks its catalog dozens of times for next to nothing, and handing that round between threads
    takes more than all of the rest: 170 ms of CPU against 62 for one view of a small ledger on SQLite.
    """
    return _connect(database, read_only, {"threads": 1} | (config or {}))


duckdb.connect = _connect_on_one_thread

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    max_examples=100,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile("dev", deadline=None, max_examples=25, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("soak", deadline=None, max_examples=5000, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector pass by all that is imported: it stays. A worker takes 3 s of CPU less for it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_test_changes_the_process_for_the_others() -> Generator[None]:
    """What the commands' way in does to its own process would be a riddle in another file's test: pandas barred, which
    the pages' charts import, or Ctrl-C heard by nobody."""
    heard_by, main = signal.getsignal(signal.SIGINT), sys.modules["__main__"]
    yield
    sys.modules["__main__"] = (
        main  # a page under test takes its name, and processes that begin later would run it
    )
    assert importlib.util.find_spec("pandas"), "this test bars pandas in its whole process"
    assert signal.getsignal(signal.SIGINT) is heard_by, "this test leaves another handler of Ctrl-C"
