"""Lean processes: without pandas, which nothing in them needs and which takes a second and 50 MB to import."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas:
    """A finder that finds no pandas. None in `sys.modules` would not do: pyarrow takes that for the module."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)
        return None


def without_pandas() -> None:
    """From now on pandas counts as not installed in this process, unless it is imported already.

    DuckDB imports it at its first bound parameter, where it can, and would lose a Ctrl-C meanwhile.
    """
    if not any(finder is _NoPandas for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas)
