"""A writer's identity: the idempotency keys `writer/epoch/sequence` that travel in its commits."""

import re
from dataclasses import dataclass, field

from quartermaster.errors import InputError

_KEY = re.compile(r"[\x20-\x7e]{1,300}")
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


@dataclass
class Writer:
    """One live process that writes: no other has its `name`, and its `epoch` is new with each start.

    A batch keeps its key for life, in the spool too, so that it is in the ledger once, however often sent.
    Raises InputError for a name that could be mistaken in a key.
    """

    name: str
    epoch: int
    _sequence: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(f"{self.name!r} is no writer's name", "use letters, digits and . _ : - only")

    def next_key(self) -> str:
        """The key of the next batch."""
        self._sequence += 1
        return key(self.name, self.epoch, self._sequence)


def key(writer: str, epoch: int, sequence: int) -> str:
    """The idempotency key of a batch: `writer/epoch/sequence`."""
    return f"{writer}/{epoch}/{sequence}"


def check_key(text: str) -> str:
    """The key itself, if it can travel in a commit: 1 to 300 printable ASCII characters. Or InputError."""
    if not _KEY.fullmatch(text):
        raise InputError(
            f"{text[:80]!r} is no idempotency key",
            "use writer/epoch/sequence, at most 300 printable ASCII characters",
        )
    return text
