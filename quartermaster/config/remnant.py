"""What is left of a broken file when the wrong is taken out: all its other problems are then told at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from quartermaster.config.problem import Key


@dataclass
class Remnant:
    """Values that are left, and for each key of theirs the key in the file (items of a list move up)."""

    value: object
    was: dict[Key, Key] = field(default_factory=dict[Key, Key])

    def without(self, wrong: Iterable[Key]) -> "Remnant":
        """What is left when the values at these keys of the remnant are gone too."""
        left = Remnant(None)
        left.value = self._kept(self.value, (), (), frozenset(wrong), left)
        return left

    def in_file(self, key: Key) -> Key:
        """The key as the file has it, also of one that is not there."""
        return self.was.get(key, (*self.in_file(key[:-1]), key[-1]) if key else ())

    def nearest_present(self, key: Key) -> Key:
        """The key itself if something stands there, else the nearest one above."""
        value: object = self.value
        for depth, step in enumerate(key):
            if isinstance(value, Mapping) and step in value:
                value = cast(Mapping[object, object], value)[step]
            elif isinstance(value, tuple) and isinstance(step, int):
                value = cast(tuple[object, ...], value)[step]
            else:
                return key[:depth]
        return key

    def _kept(self, value: object, old: Key, new: Key, wrong: frozenset[Key], left: "Remnant") -> object:
        left.was[new] = self.in_file(old)
        if isinstance(value, tuple):
            every = enumerate(cast(tuple[object, ...], value))
            items = [(index, item) for index, item in every if (*old, index) not in wrong]
            return tuple(
                self._kept(item, (*old, index), (*new, position), wrong, left)
                for position, (index, item) in enumerate(items)
            )
        if isinstance(value, Mapping):
            return {
                name: self._kept(item, (*old, name), (*new, name), wrong, left)
                for name, item in cast(Mapping[str, object], value).items()
                if (*old, name) not in wrong
            }
        return value
