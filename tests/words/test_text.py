"""Strangers' text, shown: on a line, in a table, as JSON, as CSV; a terminal never obeys it."""

import json

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from cli import output
from quartermaster.errors import InputError
from quartermaster.text import visible, visible_lines
from sql.answers import csv_text

HOSTILE = "\x1b[31mred\x1b]0;owned\x07\x9b2J\x00\u202eesrever\u200b[bold]<script>"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a\u00a0b", "a b"),
        ("ä–§ 漢字 🦄", "ä–§ 漢字 🦄"),
        ("\x1b[2J\n", "\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}"),
        ("\u202eevil\ud800", "\N{REPLACEMENT CHARACTER}evil\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_what_does_not_show_is_replaced(given: str, told: str) -> None:
    assert visible(given) == told


@given(st.text())
def test_whatever_it_is_it_shows(text: str) -> None:
    assert visible(text).isprintable()
    assert len(visible(text)) == len(text)
    assert visible_lines(text).count("\n") == text.count("\n")


def test_no_way_to_print_obeys_it(capsys: pytest.CaptureFixture[str]) -> None:
    output.say(HOSTILE)
    output.table(HOSTILE, [HOSTILE], [[HOSTILE]])
    output.emit_json({"name": HOSTILE})
    output.complain(InputError(HOSTILE, HOSTILE))
    typer.echo(csv_text([HOSTILE], [[HOSTILE]]))
    told = capsys.readouterr()
    assert (told.out + told.err).replace("\n", "").isprintable()
    assert told.out.count("<script>") == 7


@given(st.text())
def test_json_stays_the_same_value(text: str) -> None:
    written = output.json_text([text])
    assert json.loads(written) == [text]
    assert not set(written) & set("\x1b\x7f\x9b\u200b\u202e\u2028")


def test_a_stream_without_our_signs_has_them_spelt() -> None:
    told = "23–29 November · 3 × 2 → 漢 …".encode("ascii", output.SPELT)
    assert told == b"23-29 November | 3 x 2 -> ? ..."
