"""The spool: a folder where batches wait, on the disk for sure, while the ledger is away; bounded in size."""

import os
from dataclasses import dataclass
from pathlib import Path

from collector.batch import SAMPLES, Batch, from_bytes, to_bytes
from quartermaster.errors import InputError

_WHOLE, _BARE, _DAMAGED = ".arrow", ".bare", ".damaged"


@dataclass(frozen=True, slots=True)
class Stored:
    """What it took to store a batch: how many older ones lost their samples to make room for it."""

    dropped: int


@dataclass(frozen=True, slots=True)
class _File:
    """A waiting file: with samples (`.arrow`) or without (`.bare`), and its bytes."""

    kind: str
    size: int


class Spool:
    """Batches in the order of their keys. One process has it (collector.identity); its threads take turns."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Take over what an earlier life left in the folder; what it had not finished writing was never
        acknowledged."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.limit_bytes = limit_bytes
        for unfinished in folder.glob("*.part"):
            unfinished.unlink()
        found = sorted((path.stem, path) for kind in (_WHOLE, _BARE) for path in folder.glob(f"*{kind}"))
        self._files = {stem: _File(path.suffix, path.stat().st_size) for stem, path in found}

    def __len__(self) -> int:
        return len(self._files)

    @property
    def bytes_used(self) -> int:
        """How many bytes wait."""
        return sum(file.size for file in self._files.values())

    @property
    def first(self) -> str | None:
        """The `order` of the batch whose turn it is."""
        return next(iter(self._files), None)

    def put(self, batch: Batch) -> Stored:
        """Store a batch; when this returns, it outlives a power cut.

        Where the spool is full, the oldest batches lose their samples, and get a gap for them. Raises
        OSError.
        """
        content = to_bytes(batch)
        dropped = 0
        while self._files and self.bytes_used + len(content) > self.limit_bytes:
            made_room, lost = self._shrink()
            dropped += lost
            if not made_room:
                break
        self._write(order(batch.key), _WHOLE if SAMPLES in batch.frames else _BARE, content)
        return Stored(dropped)

    def oldest(self) -> Batch | None:
        """The batch whose turn it is, None when none waits. A damaged file is set aside: InputError names
        it, once."""
        stem = self.first
        if stem is None:
            return None
        path = self._path(stem)
        try:
            return from_bytes(path.read_bytes())
        except InputError as error:
            path.rename(path.with_suffix(_DAMAGED))
            del self._files[stem]
            raise InputError(f"{path.with_suffix(_DAMAGED)}: {error.what}", error.hint) from error

    def remove(self, key: str) -> None:
        """Forget a batch that the ledger has. When the file comes back after a crash, its key makes that
        harmless."""
        self._delete(order(key))

    def _shrink(self) -> tuple[bool, int]:
        """Drop the samples of the oldest batch that has any; where none has, lay the two oldest together."""
        whole = next((stem for stem, file in self._files.items() if file.kind == _WHOLE), None)
        if whole is not None:
            batch = self._read(whole)
            if batch is None:
                self._delete(whole)
            else:
                self._write(whole, _BARE, to_bytes(batch.without_samples()))
            return True, 1
        if len(self._files) < 2:
            return False, 0
        first, second = list(self._files)[:2]
        older, younger = self._read(first), self._read(second)
        if older is not None and younger is not None:
            self._write(second, _BARE, to_bytes(younger.after(older)))
        self._delete(first)
        return True, 0

    def _read(self, stem: str) -> Batch | None:
        try:
            return from_bytes(self._path(stem).read_bytes())
        except InputError:
            return None

    def _write(self, stem: str, kind: str, content: bytes) -> None:
        path, before = self.folder / f"{stem}{kind}", self._files.get(stem)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
        if before is not None and before.kind != kind:
            self._path(stem).unlink()
        sync_folder(self.folder)
        self._files[stem] = _File(kind, len(content))
        if before is None:
            self._files = dict(sorted(self._files.items()))

    def _delete(self, stem: str) -> None:
        if stem in self._files:
            self._path(stem).unlink(missing_ok=True)
            del self._files[stem]

    def _path(self, stem: str) -> Path:
        return self.folder / f"{stem}{self._files[stem].kind}"


def sync_folder(folder: Path) -> None:
    """Put a folder's names onto the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def order(key: str) -> str:
    """The name of a batch's file; names are in the order in which their batches were made."""
    _, epoch, sequence = key.split("/")
    return f"{int(epoch):010d}-{int(sequence):012d}"
