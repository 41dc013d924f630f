"""The walk: whatever is written verifies; whatever is changed afterwards, by anybody, does not."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.audit.row import SCHEMA, Head, chained, hash_of
from enforcer.audit.walk import MOST_FLAWS, Kind, Walk
from tests.audit.deeds import many, refused

Rows = list[dict[str, Any]]
TEN = chained(many(10), Head(0, ""))
END = Head(10, TEN[-1]["row_hash"])
COLUMNS = sorted(set(SCHEMA) - {"number"})


def walked(
    rows: Sequence[dict[str, Any]], head: Head | None = END, heads: dict[int, str] | None = None
) -> Walk:
    walk = Walk(heads or {})
    for row in sorted(rows, key=lambda row: (row["number"], row["row_hash"] or "")):
        walk.take(row)
    walk.end(head)
    return walk


def told(walk: Walk) -> list[tuple[int | None, str]]:
    return [(flaw.number, flaw.kind.value) for flaw in walk.flaws]


def hashed(row: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The row changed, by somebody who knows how its hash is made."""
    other = row | changed
    return other | {"row_hash": hash_of(other)}


@given(st.lists(st.integers(1, 4), max_size=8))
def test_whatever_is_written_in_whatever_batches_verifies(batches: list[int]) -> None:
    head, rows = Head(0, ""), list[dict[str, Any]]()
    for number, size in enumerate(batches):
        rows += chained([refused(f"{number}-{each}") for each in range(size)], head)
        head = Head(rows[-1]["number"], rows[-1]["row_hash"])
    walk = walked(rows, head, {row["number"]: row["row_hash"] for row in rows})
    assert (walk.flaws, walk.rows, walk.last) == ([], sum(batches), head)


@given(st.data())
def test_any_single_change_is_found(data: st.DataObject) -> None:
    rows = [dict(row) for row in TEN]
    at = data.draw(st.integers(0, 9))
    other = data.draw(st.integers(0, 9).filter(lambda place: place != at))
    how = data.draw(
        st.sampled_from(["field", "hashed", "delete", "tail", "swap", "contents", "copy", "insert"])
    )
    column = data.draw(st.sampled_from(COLUMNS))
    value = data.draw(
        st.none() | st.integers(-(2**62), 2**62) | st.text(st.characters(codec="utf-8"), max_size=5)
    )
    if how in {"field", "hashed"}:
        if rows[at][column] == value:
            value = f"{value}x"
        rows[at][column] = value
        if how == "hashed" and column != "row_hash":
            rows[at] = hashed(rows[at])
    elif how == "delete":
        del rows[at]
    elif how == "tail":
        del rows[at:]
    elif how == "swap":
        rows[at]["number"], rows[other]["number"] = rows[other]["number"], rows[at]["number"]
    elif how == "contents":
        numbers = rows[at]["number"], rows[other]["number"]
        rows[at], rows[other] = rows[other] | {"number": numbers[0]}, rows[at] | {"number": numbers[1]}
    elif how == "copy":
        rows.append(dict(rows[at]))
    else:
        rows.append(hashed(rows[at], number=data.draw(st.integers(-3, 20))))
    assert walked(rows).found


@pytest.mark.parametrize(
    ("rows", "flaws"),
    [
        ([*TEN[:4], TEN[4] | {"team": "speech"}, *TEN[5:]], [(5, "changed")]),
        ([*TEN[:4], hashed(TEN[4], team="speech"), *TEN[5:]], [(6, "unlinked")]),
        ([*TEN[:4], *TEN[7:]], [(5, "missing")]),
        (TEN[2:], [(1, "missing")]),
        ([*TEN, TEN[4]], [(5, "doubled")]),
        (TEN[:7], [(8, "cut off")]),
        ([], [(1, "cut off")]),
        ([hashed(TEN[0], number=0), *TEN], [(0, "stray")]),
        ([*TEN[:9], hashed(TEN[9], team="speech")], [(10, "another chain")]),
        ([*TEN, *chained([refused("late")], END)], [(11, "stray")]),
    ],
    ids=lambda given: given[0][1] if isinstance(given[0] if given else None, tuple) else "",
)
def test_what_is_amiss_is_named_with_its_row(rows: Rows, flaws: list[tuple[int, str]]) -> None:
    assert told(walked(rows)) == flaws


def test_what_is_missing_is_said_from_where_to_where() -> None:
    assert [flaw.words for flaw in walked([*TEN[:4], *TEN[7:]]).flaws] == ["rows 5 to 7 are not there"]
    assert [flaw.words for flaw in walked([*TEN[:4], *TEN[5:]]).flaws] == ["it is not there"]
    assert walked(TEN[:7]).flaws[0].words == "the chain went to row 10, and ends at row 7"


def test_a_chain_without_its_head_is_amiss() -> None:
    assert told(walked(TEN, None)) == [(None, "stray")]


def test_a_chain_made_anew_from_a_row_on_is_betrayed_by_a_published_head() -> None:
    anew = chained([refused("forged"), *many(9)[4:]], Head(4, TEN[3]["row_hash"]))
    rows = [*TEN[:4], *anew]
    head = Head(rows[-1]["number"], rows[-1]["row_hash"])
    assert told(walked(rows, head)) == []
    assert told(walked(rows, head, {3: TEN[2]["row_hash"], 7: TEN[6]["row_hash"]})) == [(7, "another chain")]


def test_a_tail_cut_together_with_its_head_is_betrayed_by_a_published_head() -> None:
    head = Head(6, TEN[5]["row_hash"])
    assert told(walked(TEN[:6], head)) == []
    assert told(walked(TEN[:6], head, {10: END.row_hash})) == [(7, "cut off")]


def test_the_first_flaws_are_kept_and_all_are_counted() -> None:
    rows = [row | {"team": "x"} for row in chained(many(2 * MOST_FLAWS), Head(0, ""))]
    walk = walked(rows, Head(len(rows), rows[-1]["row_hash"]))
    assert (walk.found, len(walk.flaws), walk.flaws[0].kind) == (2 * MOST_FLAWS, MOST_FLAWS, Kind.CHANGED)
