"""A row's hash: of every column, in one form that others can make too."""

import json
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.audit.deed import Deed, Phase
from enforcer.audit.row import (
    LONGEST_FIELDS,
    LONGEST_TEXT,
    LONGEST_WORDS,
    SCHEMA,
    Head,
    chained,
    cleaned,
    deed_of,
    hash_of,
    key_of,
)
from quartermaster.errors import InputError
from tests.audit.deeds import intent, many

HOSTILE = st.text(st.characters(), max_size=20)
DEEDS = st.builds(
    intent,
    HOSTILE,
    st.integers(0, 2**42),
    phase=st.sampled_from(Phase),
    name=HOSTILE,
    words=HOSTILE,
    before=HOSTILE,
    frees_parts=st.integers(0, 2**62),
    request_id=st.none() | st.integers(0, 2**63 - 1),
)


@given(DEEDS)
def test_others_can_make_the_hash_from_the_documented_text(deed: Deed) -> None:
    (row,) = chained([cleaned(deed)], Head(6, "f" * 64))
    told = {name: value for name, value in row.items() if name != "row_hash"}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert row["row_hash"] == sha256(text.encode()).hexdigest()
    assert (told["number"], told["previous_hash"], told["told_at"]) == (7, "f" * 64, deed.at_ms * 1000)


@given(DEEDS)
def test_a_row_is_the_deed_again(deed: Deed) -> None:
    (row,) = chained([cleaned(deed)], Head(0, ""))
    assert deed_of(row) == cleaned(deed)
    assert set(row) == set(SCHEMA)


@pytest.mark.parametrize("column", sorted(set(SCHEMA) - {"row_hash"}))
def test_every_column_counts_and_nothing_is_not_empty(column: str) -> None:
    (row,) = chained([intent()], Head(0, ""))
    others: list[Any] = [row[column] + 1] if isinstance(row[column], int) else [f"{row[column]} "]
    for other in [*others, None if row[column] is not None else 0]:
        assert hash_of(row | {column: other}) != row["row_hash"]


@pytest.mark.parametrize("name", [each.name for each in fields(Deed)])
def test_the_key_of_a_batch_is_of_every_field(name: str) -> None:
    told: Any = getattr(intent(), name)
    other = {"phase": Phase.REFUSED, "request_id": 7}.get(name) or (
        told + 1 if isinstance(told, int) else f"{told} "
    )
    changed = replace(intent(), **{name: other})
    assert key_of([intent()]) == key_of([intent()])
    assert len({key_of([intent()]), key_of([changed]), key_of([intent(), changed])}) == 3


def test_each_row_has_the_hash_of_the_one_before() -> None:
    rows = chained(many(3), Head(41, "e" * 64))
    assert [row["number"] for row in rows] == [42, 43, 44]
    assert [row["previous_hash"] for row in rows] == ["e" * 64, rows[0]["row_hash"], rows[1]["row_hash"]]


def test_what_no_catalog_can_hold_is_replaced_and_long_text_cut() -> None:
    odd = cleaned(intent(name="a\x00b\ud800c", words="w" * 9_999, team="t" * 9_999))
    assert odd.name == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    assert (len(odd.words), len(odd.team)) == (LONGEST_WORDS, LONGEST_TEXT)
    assert cleaned(odd) == odd
    assert odd.phase is Phase.INTENT


def test_fields_that_cannot_be_recorded_whole_are_refused() -> None:
    assert cleaned(intent(before="x" * LONGEST_FIELDS)).before == "x" * LONGEST_FIELDS
    with pytest.raises(InputError, match=r"Job vision/train-u1: its fields before the change take 65,537"):
        cleaned(intent(before="x" * (LONGEST_FIELDS + 1)))


def test_heads_are_written_as_on_the_lease() -> None:
    assert Head(12, "ab").text == "12:ab"
