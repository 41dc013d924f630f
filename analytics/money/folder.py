"""The folder of a closed period: plain Parquet and canonical JSON, and a manifest that anybody can check."""

import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from analytics.money.evidence import Evidence
from analytics.money.manifest import Piece, Statement, canonical, hash_of
from quartermaster.errors import InputError

MANIFEST = "manifest.json"
ROW_GROUP = 131_072


def file_contents(evidence: Evidence, statements: Sequence[Statement]) -> dict[str, bytes]:
    """The files by name, without the manifest: the same rows are the same bytes, by the same version of polars."""
    found = {f"{name}.parquet": _parquet(evidence, name) for name in evidence.tables}
    sums = evidence.sums.to_dicts()
    found["sums.json"] = canonical(sums).encode()
    found["statements.json"] = canonical([_told(each) for each in statements]).encode()
    return dict(sorted(found.items()))


def pieces(contents: Mapping[str, bytes]) -> list[Piece]:
    """Each file's size and hash."""
    return [Piece(name, len(data), hash_of(data)) for name, data in contents.items()]


def write_folder(folder: Path, contents: Mapping[str, bytes], manifest: str) -> None:
    """Write them into the folder, whole or not at all; a folder that is there already is replaced.

    Raises InputError where it cannot be written.
    """
    aside = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}")
    try:
        aside.mkdir(parents=True)
        for name, data in (*contents.items(), (MANIFEST, manifest.encode())):
            (aside / name).write_bytes(data)
        if folder.exists():
            shutil.rmtree(folder)
        aside.rename(folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise InputError(f"{folder}: it cannot be written: {error.strerror}", "set business.books") from error


def amiss(folder: Path, manifest: str) -> list[str]:
    """What of the folder is not as the manifest says, in words; nothing where all is."""
    found: list[str] = []
    there = folder / MANIFEST
    if not there.is_file() or there.read_bytes() != manifest.encode():
        found.append(f"{there} is not the manifest that was closed")
    for piece in json.loads(manifest)["files"]:
        file = folder / piece["name"]
        if not file.is_file():
            found.append(f"{file} is missing")
        elif hash_of(file.read_bytes()) != piece["sha256"]:
            found.append(f"{file} has been changed")
    return found


def _parquet(evidence: Evidence, name: str) -> bytes:
    buffer = io.BytesIO()
    evidence.tables[name].write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=ROW_GROUP
    )
    return buffer.getvalue()


def _told(each: Statement) -> dict[str, object]:
    return {
        "statement": each.statement,
        "team": each.team,
        "department": each.department,
        "cost_centre": each.cost_centre,
        "currency": each.currency,
        "amount": each.amount,
        "exact_amount": each.exact_amount,
    }
