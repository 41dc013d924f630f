"""The way in, for `quartermaster` and `python -m cli`: Ctrl-C while modules are loaded ends it without a word."""

import signal


def run() -> None:
    """The entry point: loads the command, then runs it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cli.main import run as begin

    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin()


if __name__ == "__main__":
    run()
