"""Strangers' names in messages: shown, and meaning nothing to any program that shows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.plain import plain


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("notebook-7", "notebook-7"),
        ("Forschung Süd", "Forschung Süd"),
        ("Su\u0308d", "Süd"),
        ("視覚_team/a", "視覚_team/a"),
        ("train.v2", "train·v2"),
        ("evil.example/login", "evil·example/login"),
        ("https://evil.example", "https?//evil·example"),
        ("<!channel> <@U123>", "??channel? ??U123?"),
        ("@here @all", "?here ?all"),
        ("<script>alert(1)</script>", "?script?alert?1??/script?"),
        ("**bold** `code` ~~x~~ [a](b)", "??bold?? ?code? ??x?? ?a??b?"),
        (":fire: #general $(rm) %0a &amp;", "?fire? ?general ??rm? ?0a ?amp?"),
        ("a\r\nBcc: x\tb\x00\x1b[31m", "a??Bcc? x?b???31m"),
        ("a\u202eb\u200bc\u2066d\ufeff\u00ad", "a?b?c?d??"),
        ("שלום \u0661", "???? ?"),
        ("a\u3164b\u115f", "a?b?"),
        ("  a   b  ", "a b"),
        ("", ""),
        ("x" * 90, "x" * 79 + "…"),
        ("@" * 10**6, "?" * 79 + "…"),
    ],
)
def test_a_name(name: str, told: str) -> None:
    assert plain(name) == told


@given(st.text(), st.integers(1, 40))
def test_nothing_is_left_that_means_something_and_it_is_short(name: str, at_most: int) -> None:
    told = plain(name, at_most)
    assert len(told) <= at_most
    assert told.isprintable()
    assert not set(told) & set("@<>*`~[](){}!#$%&|\\:;\"'=+^,.")
