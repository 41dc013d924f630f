"""Teams and pools: the patterns as DuckDB reads them, the first rule that matches, what nothing matches."""

from collections.abc import Callable, Generator
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.config.units import glob
from quartermaster.pool import PoolRule, pool_of
from quartermaster.team import Rule, glob_matches, pattern_id, team_of, user_pattern_ids

Check = Callable[[str, str], None]
HOSTILE = "ab*?[]!^-\\{}%_.'\"\n\t é日😀\x00$()|+"


@pytest.fixture(scope="module")
def duck() -> Generator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def globs_alike(duck: duckdb.DuckDBPyConnection) -> Check:
    def check(pattern: str, text: str) -> None:
        glob(pattern)  # it is a pattern that a configuration may have
        bound = duck.execute("select ? glob ?", [text, pattern]).fetchone()
        column = duck.execute(
            "select t glob p from (values (?::varchar, ?::varchar)) as v (t, p)", [text, pattern]
        ).fetchone()
        assert bound == column == (glob_matches(pattern, text),), (pattern, text)

    return check


PATTERNS = st.text(st.sampled_from("ab*?!^-{}%_.'\" é日😀()|+"), min_size=1, max_size=8)


@given(pattern=PATTERNS, text=st.text(st.sampled_from(HOSTILE), max_size=10))
def test_python_and_duckdb_read_patterns_alike(globs_alike: Check, pattern: str, text: str):
    globs_alike(pattern, text)


@given(text=st.text(max_size=12), data=st.data())
def test_a_pattern_cut_from_the_text_itself(globs_alike: Check, text: str, data: st.DataObject):
    pattern = "".join(
        data.draw(st.sampled_from([letter, "*", "?" * len(letter.encode())])) for letter in text
    )
    pattern = "".join(letter for letter in pattern if letter.isprintable() and letter not in "[]\\")
    if pattern and "${" not in pattern:
        globs_alike(pattern, text)


@pytest.mark.parametrize("pattern", ["[a]", "a]", "a\\*", "", "a\nb"])
def test_what_tools_read_differently_is_refused(pattern: str):
    with pytest.raises(ValueError, match=r"pattern|control"):
        glob(pattern)


def test_many_stars_are_not_slow():
    assert not glob_matches("*a" * 12 + "b", "a" * 200)


RULES = (
    Rule("vision", namespace="vision-*"),
    Rule("speech", label_key="team", label_value="sp*"),
    Rule("tagged", label_key="team"),
    Rule("alices", user="a*"),
    Rule("unixers", unix_user="a*"),
    Rule("grouped", unix_group="bio*"),
    Rule("late", cluster="lab", start_at=100, end_at=200),
)


@pytest.mark.parametrize(
    ("expected", "given_"),
    [
        ("vision", {"namespace": "vision-1", "labels": {"team": "speech"}}),
        ("speech", {"labels": {"team": "speech"}}),
        ("tagged", {"labels": {"team": ""}}),
        ("unassigned", {"labels": {"Team": "speech"}}),
        ("alices", {"user_patterns": [pattern_id("user", "a*")]}),
        ("unixers", {"user_patterns": [pattern_id("unix_user", "a*")]}),
        ("grouped", {"user_patterns": [pattern_id("unix_group", "bio*")]}),
        ("late", {"cluster": "lab"}),
        ("unassigned", {"cluster": "lab", "instant_ms": 200}),
        ("unassigned", {"cluster": "lab", "instant_ms": 99}),
        ("unassigned", {"namespace": "Vision-1"}),
    ],
)
def test_the_first_rule_that_matches(expected: str, given_: dict[str, Any]):
    facts: dict[str, Any] = {"instant_ms": 150, "cluster": "c", "namespace": "n", "labels": {}} | given_
    instant_ms = facts.pop("instant_ms")
    assert team_of(RULES, instant_ms, **facts) == expected


def test_of_a_user_only_the_ids_of_patterns_are_kept():
    assert user_pattern_ids(RULES, user="alice") == [pattern_id("user", "a*")]
    assert user_pattern_ids(RULES, unix_user="alice") == [pattern_id("unix_user", "a*")]
    assert user_pattern_ids(RULES, unix_user="eve", unix_groups=("users", "biology")) == [
        pattern_id("unix_group", "bio*")
    ]
    assert user_pattern_ids(RULES, user="bob") == []
    assert pattern_id("user", "a*") != pattern_id("unix_user", "a*")


@pytest.mark.parametrize(
    ("model", "labels", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", {"pool": "training"}, "training"),
        ("NVIDIA H100 80GB HBM3", {}, "big"),
        ("NVIDIA A100-SXM4-80GB", {}, "big"),
        ("Tesla T4", {"pool": "training"}, "tesla-t4"),
        ("", {}, "unknown"),
    ],
)
def test_the_first_pool_that_matches(model: str, labels: dict[str, str], expected: str):
    rules = [PoolRule("training", ("*H100*",), {"pool": "train*"}), PoolRule("big", ("*H100*", "*A100*"))]
    assert pool_of(rules, model, labels) == expected
