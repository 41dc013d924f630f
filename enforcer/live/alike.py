"""Values that many objects share: a cluster's pods have the same few shapes, labels and names, each kept once."""

from collections.abc import Hashable
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)
_MOST = 50_000


class Alike:
    """Gives, for equal values, one and the same. What it forgets is kept by its objects, only not shared any more."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Hashable] = {}

    def one(self, value: Value) -> Value:
        """The value, or an equal one that is there already."""
        if len(self._known) >= _MOST:
            self._known.clear()
        return self._known.setdefault(value, value)  # pyright: ignore[reportReturnType]  (of the same type, as equal)
