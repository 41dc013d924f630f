"""The spool: a folder where batches wait, on the disk for sure, while the ledger is away; bounded in size."""

import os
from dataclasses import dataclass
from pathlib import Path

from collector.batch import SAMPLES, Batch, from_bytes, to_bytes
from quartermaster.errors import InputError

_SUFFIX, _DAMAGED = ".arrow", ".damaged"


@dataclass(frozen=True, slots=True)
class Stored:
    """What it took to store a batch: how many older ones lost their samples to make room for it."""

    dropped: int


class Spool:
    """Batches in the order of their keys. One process has it (collector.identity); its threads take turns."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Take over what an earlier life left in the folder; what it had not finished writing was never acknowledged."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.limit_bytes = limit_bytes
        for unfinished in folder.glob("*.part"):
            unfinished.unlink()
        self._sizes = {path.name: path.stat().st_size for path in sorted(folder.glob(f"*{_SUFFIX}"))}

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def bytes_used(self) -> int:
        """How many bytes wait."""
        return sum(self._sizes.values())

    def put(self, batch: Batch) -> Stored:
        """Store a batch; when this returns, it outlives a power cut.

        Where the spool is full, the oldest batches lose their samples, and get a gap for them. Raises OSError.
        """
        content = to_bytes(batch)
        dropped = 0
        while self._sizes and self.bytes_used + len(content) > self.limit_bytes:
            made_room, lost = self._shrink()
            dropped += lost
            if not made_room:
                break
        self._write(_name(batch.key), content)
        return Stored(dropped)

    def oldest(self) -> Batch | None:
        """The batch whose turn it is, None when none waits. A damaged file is set aside: InputError names it, once."""
        name = next(iter(self._sizes), None)
        if name is None:
            return None
        try:
            return from_bytes((self.folder / name).read_bytes())
        except InputError as error:
            aside = (self.folder / name).with_suffix(_DAMAGED)
            (self.folder / name).rename(aside)
            del self._sizes[name]
            raise InputError(f"{aside}: {error.what}", error.hint) from error

    def remove(self, key: str) -> None:
        """Forget a batch that the ledger has. When the file comes back after a crash, its key makes that harmless."""
        self._delete(_name(key))

    def _shrink(self) -> tuple[bool, int]:
        """Drop the samples of the oldest batch that has any; where none has, lay the two oldest together."""
        for name in list(self._sizes):
            batch = self._read(name)
            if batch is not None and SAMPLES in batch.frames:
                self._write(name, to_bytes(batch.without_samples()))
                return True, 1
        if len(self._sizes) < 2:
            return False, 0
        first, second = list(self._sizes)[:2]
        older, younger = self._read(first), self._read(second)
        if older is not None and younger is not None:
            self._write(second, to_bytes(younger.after(older)))
        self._delete(first)
        return True, 0

    def _read(self, name: str) -> Batch | None:
        try:
            return from_bytes((self.folder / name).read_bytes())
        except InputError:
            return None

    def _write(self, name: str, content: bytes) -> None:
        part = self.folder / f"{name}.part"
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.folder / name)
        sync_folder(self.folder)
        self._sizes[name] = len(content)
        self._sizes = dict(sorted(self._sizes.items()))

    def _delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        self._sizes.pop(name, None)


def sync_folder(folder: Path) -> None:
    """Put a folder's names onto the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name(key: str) -> str:
    _, epoch, sequence = key.split("/")
    return f"{int(epoch):010d}-{int(sequence):012d}{_SUFFIX}"
