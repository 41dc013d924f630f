"""How many random histories a test tries: all of them in CI, fewer where somebody waits."""

import os


def deep(in_ci: int, here: int) -> int:
    """`in_ci` with `CI` set, else `here`. docs/testing.md names the tests that ask, and the reason."""
    return in_ci if os.environ.get("CI") else here
