"""The way in, for `quartermaster` and `python -m cli`: Ctrl-C while modules are loaded, or when all is done, ends it
without a word."""

import signal
import sys


def run() -> None:
    """The entry point: loads the command, then runs it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from quartermaster.lean import without_pandas

    without_pandas()  # Polars carries what is read; the dashboard's server is a process of its own
    from cli.main import run as begin
    from quartermaster.interrupt import interrupt, unraisable

    sys.unraisablehook = unraisable
    signal.signal(signal.SIGINT, interrupt)
    try:
        begin()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    run()
