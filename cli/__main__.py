"""`python -m cli` is the command `quartermaster`."""

from cli.main import run

run()
