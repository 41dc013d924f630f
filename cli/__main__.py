"""`python -m cli` is the command `quartermaster`."""

from cli.main import run

if __name__ == "__main__":
    run()
