"""The way in, for `quartermaster` and `python -m cli`: Ctrl-C while modules are loaded ends it without a word."""

import signal
import sys
from typing import Any, cast


def run() -> None:
    """The entry point: loads the command, then runs it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # DuckDB imports pandas at its first bound parameter, where it can: a second and 50 MB for nothing, in which
    # it would lose a Ctrl-C. Polars carries what is read; the dashboard's server is a process of its own.
    sys.modules.setdefault("pandas", cast(Any, None))
    from cli.main import run as begin
    from quartermaster.interrupt import interrupt

    signal.signal(signal.SIGINT, interrupt)
    begin()


if __name__ == "__main__":
    run()
