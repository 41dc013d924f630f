"""What a collector tells after a start, against what the ledger has: a table of cases."""

import polars as pl
import pytest

from collector.telling import untold, untold_versions

Version = tuple[int, int | None, str, int]  # start_at, end_at, content, revision
SCHEMA = {
    "cluster": pl.String,
    "id": pl.Int64,
    "start_at": pl.Int64,
    "end_at": pl.Int64,
    "model": pl.String,
    "revision": pl.Int64,
}


def frame_of(versions: list[Version]) -> pl.DataFrame:
    return pl.DataFrame([("c", 1, *version) for version in versions], schema=SCHEMA, orient="row")


CASES: dict[str, tuple[list[Version], list[Version], list[Version]]] = {
    "new": ([], [(100, None, "H100", 0)], [(100, None, "H100", 0)]),
    "known since long": ([(50, None, "H100", 0)], [(100, None, "H100", 0)], []),
    "otherwise now": (
        [(50, None, "A100", 0)],
        [(100, None, "H100", 0)],
        [(50, 100, "A100", 1), (100, None, "H100", 0)],
    ),
    "ended, under the start that was told": (
        [(100, None, "H100", 0)],
        [(100, 200, "H100", 1)],
        [(100, 200, "H100", 1)],
    ),
    "ended, known under an older start": (
        [(50, None, "H100", 3)],
        [(100, 200, "H100", 1)],
        [(50, 200, "H100", 4)],
    ),
    "changed while it runs": (
        [(50, None, "A100", 0)],
        [(100, 200, "A100", 1), (200, None, "H100", 0)],
        [(50, 200, "A100", 1), (200, None, "H100", 0)],
    ),
    "changed and changed back in one batch": (
        [(50, None, "H100", 0)],
        [(50, 100, "H100", 1), (100, 200, "A100", 1), (200, None, "H100", 0)],
        [(50, 100, "H100", 1), (100, 200, "A100", 1), (200, None, "H100", 0)],
    ),
    "begun and ended in one batch": (
        [],
        [(100, None, "H100", 0), (100, 200, "H100", 1)],
        [(100, 200, "H100", 1)],
    ),
    "told twice in one batch": (
        [],
        [(100, None, "H100", 0), (100, None, "H100", 0)],
        [(100, None, "H100", 0)],
    ),
    "a late one before what is known": (
        [(50, None, "H100", 0)],
        [(40, None, "A100", 0)],
        [(40, None, "A100", 0)],
    ),
}


@pytest.mark.parametrize(("known", "told", "appended"), CASES.values(), ids=CASES.keys())
def test_versions(known: list[Version], told: list[Version], appended: list[Version]) -> None:
    result = untold_versions(frame_of(told), frame_of(known), ("cluster", "id"))
    assert sorted(result.select("start_at", "end_at", "model", "revision").rows()) == sorted(appended)


def test_label_sets_are_told_once() -> None:
    told = pl.DataFrame({"cluster": ["c", "c", "c"], "label_ref": [1, 2, 2], "pod": ["a", "b", "b"]})
    known = pl.DataFrame({"cluster": ["c", "d"], "label_ref": [1, 2]})
    assert untold(told, known, ("cluster", "label_ref")).rows() == [("c", 2, "b")]
