"""What was told of things that change: a version is told when it begins, and once more when it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

Key = int | str


class Version(Protocol):
    """A record of something while it was so."""

    @property
    def start_at(self) -> int: ...
    @property
    def end_at(self) -> int | None: ...
    @property
    def revision(self) -> int: ...


Record = TypeVar("Record", bound=Version)


@dataclass
class Versions(Generic[Record]):
    """The open versions by key, and what is to be told."""

    open: dict[Key, Record] = field(default_factory=dict[Key, Record])
    _untold: dict[tuple[Key, int], Record] = field(default_factory=dict[tuple[Key, int], Record])

    def put(self, key: Key, record: Record) -> None:
        """It is so from `record.start_at` on; told only where it is not so already.

        A start before that of the version in force is taken as that version's own.
        """
        was = self.open.get(key)
        if was is None:
            self._tell(key, record)
            return
        at_ms = max(record.start_at, was.start_at)
        if _with(record, start_at=was.start_at, revision=was.revision) == was:
            return
        if at_ms == was.start_at:
            self._tell(key, _with(record, start_at=at_ms, revision=was.revision + 1))
            return
        self._tell(key, _with(was, end_at=at_ms, revision=was.revision + 1))
        self._tell(key, _with(record, start_at=at_ms))

    def end(self, key: Key, at_ms: int) -> None:
        """It is so no more."""
        was = self.open.get(key)
        if was is not None:
            self._tell(key, _with(was, end_at=max(at_ms, was.start_at), revision=was.revision + 1))
            del self.open[key]

    def tell_open(self) -> None:
        """Tell all that is open once more: what was told last may have been lost."""
        for key, record in self.open.items():
            self._untold[key, record.start_at] = record

    def settle(self, wanted: Mapping[Key, Record], at_ms: int) -> None:
        """All that is so now: what else is open ends."""
        for key in [key for key in self.open if key not in wanted]:
            self.end(key, at_ms)
        for key, record in wanted.items():
            self.put(key, record)

    def _tell(self, key: Key, record: Record) -> None:
        self.open[key] = record
        self._untold[key, record.start_at] = record

    def drain(self) -> list[Record]:
        """What changed since the last time, each version as it is last known."""
        told, self._untold = list(self._untold.values()), {}
        return told


def _with(record: Record, **changes: Any) -> Record:  # noqa: ANN401
    return replace(record, **changes)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
