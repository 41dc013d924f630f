"""The parser of a target: template, heads and grammar give one answer, whatever the last page was."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.exposition.page import Page
from collector.exposition.parse import Parser

PAGE = b"""# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",modelName="NVIDIA H100 80GB HBM3"} 0
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3"} 0.953211

up 1
"""


def what(page: Page) -> str:
    """Everything that a page says, as text (NaN equals NaN there)."""
    samples = [(s.name, sorted(s.labels.items()), s.value, s.timestamp_ms) for s in page.samples()]
    return repr((samples, page.bad_lines, page.bad_count, page.complete))


def alone(page: bytes, *, openmetrics: bool = False) -> str:
    """What a parser says that never saw another page."""
    return what(Parser().parse(page, openmetrics=openmetrics))


def after(first: bytes, second: bytes) -> tuple[Page, Page]:
    """Two pages by one parser."""
    parser = Parser()
    return parser.parse(first), parser.parse(second)


SECOND_PAGES = {
    "the same": PAGE,
    "values": PAGE.replace(b" 97\n", b" 3\n").replace(b"0.953211", b"1e-7"),
    "NaN and infinities": PAGE.replace(b" 97\n", b" NaN\n").replace(b"0.953211", b"-Inf"),
    "text as value": PAGE.replace(b" 97\n", b" ERROR - FAILED TO CONVERT TO STRING\n"),
    "underscore": PAGE.replace(b" 97\n", b" 9_7\n"),
    "no value": PAGE.replace(b" 97\n", b" \n"),
    "timestamps": PAGE.replace(b" 97\n", b" 97 1700000000123\n"),
    "two blanks": PAGE.replace(b" 97\n", b"  97\n"),
    "a tab": PAGE.replace(b" 97\n", b"\t97\n"),
    "blank at the end": PAGE.replace(b" 97\n", b" 97 \n"),
    "form feed": PAGE.replace(b" 97\n", b" 97\x0c\n"),
    "file separator": PAGE.replace(b" 97\n", b" 97\x1c\n"),
    "CRLF": PAGE.replace(b"\n", b"\r\n"),
    "a pod came": PAGE.replace(b'gpu="1"', b'gpu="1",pod="train-0"'),
    "a line went": PAGE.replace(b"up 1\n", b""),
    "a line came": PAGE + b"process_start_time_seconds 1.7e9\n",
    "a comment went": PAGE.replace(b"# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge\n", b""),
    "a bad comment": PAGE.replace(b"# TYPE DCGM_FI_DEV_GPU_UTIL gauge", b"# TYPE 9 gauge"),
    "twice": PAGE.replace(b"up 1\n", b"up 1\nup 2\n"),
    "not UTF-8": PAGE.replace(b"GPU-b", b"GPU-\xff"),
    "value not UTF-8": PAGE.replace(b" 97\n", b" 9\xff\n"),
    "an unescaped quote": PAGE.replace(b'H100 80GB HBM3"} 97', b'H100 "80GB" HBM3"} 97'),
    "a brace in a label": PAGE.replace(b"GPU-b", b"GPU-}b"),
    "exemplar": PAGE.replace(b" 97\n", b' 97 # {a="b"} 1\n'),
    "cut in a value": PAGE[:-1],
    "cut in a label": PAGE[:200],
    "cut before a value": PAGE[: PAGE.index(b" 97") + 1],
    "empty": b"",
    "blank lines": b"\n\n\n",
    "another page": b"<html><body>404 page not found</body></html>\n",
    "zero bytes": b"\0" * 100,
}


@pytest.mark.parametrize("second", SECOND_PAGES.values(), ids=SECOND_PAGES)
@pytest.mark.parametrize(
    "first",
    [PAGE, SECOND_PAGES["timestamps"], SECOND_PAGES["CRLF"], SECOND_PAGES["text as value"]],
    ids=["usual", "timed", "CRLF", "bad"],
)
def test_the_answer_does_not_depend_on_the_last_page(first: bytes, second: bytes) -> None:
    parser = Parser()
    assert what(parser.parse(first)) == alone(first)
    assert what(parser.parse(second)) == alone(second)
    assert what(parser.parse(first)) == alone(first)


@pytest.mark.parametrize("openmetrics", [False, True], ids=["text", "openmetrics"])
@given(seed=st.integers(0, 2**64))
def test_pages_that_change_as_they_like(
    openmetrics: bool,
    make_line: Callable[[random.Random], str],
    damage: Callable[[random.Random, str], str],
    seed: int,
) -> None:
    rng = random.Random(seed)
    lines = [make_line(rng) for _ in range(rng.randrange(30))]
    parser = Parser()
    for _ in range(6):
        page = "".join(line + "\n" for line in [*lines, *["# EOF"] * openmetrics]).encode()
        if rng.random() < 0.1:
            page = page[: rng.randrange(len(page) + 1)]
        assert what(parser.parse(page, openmetrics=openmetrics)) == alone(page, openmetrics=openmetrics)
        for _ in range(rng.randrange(4)):
            lines = _changed(rng, lines, make_line, damage)


def _changed(
    rng: random.Random,
    lines: list[str],
    make_line: Callable[[random.Random], str],
    damage: Callable[[random.Random, str], str],
) -> list[str]:
    place = rng.randrange(len(lines) + 1)
    how = rng.randrange(5)
    if how == 0 or not lines or place == len(lines):
        return [*lines[:place], make_line(rng), *lines[place:]]
    head, blank, _ = lines[place].rpartition(" ")
    changed = (
        [damage(rng, lines[place])]
        if how == 1
        else []
        if how == 2
        else [head + blank + make_line(rng).rpartition(" ")[2]]
    )
    return [*lines[:place], *changed, *lines[place + 1 :]]


def test_layout_and_lines_are_the_same_objects_while_only_values_change() -> None:
    first, second = after(PAGE, SECOND_PAGES["values"])
    assert second.layout is first.layout
    assert second.values.tolist() == [3, 0, 1e-7, 1]


def test_timestamps_do_not_change_the_layout() -> None:
    first, second = after(
        SECOND_PAGES["timestamps"], SECOND_PAGES["timestamps"].replace(b"1700000000123", b"1700000030123")
    )
    assert second.layout is first.layout
    assert second.timestamps_ms is not None
    assert second.timestamps_ms[0] == 1700000030123


def test_lines_that_stay_are_the_same_objects_when_others_change() -> None:
    first, second = after(PAGE, SECOND_PAGES["a pod came"])
    same = [one is other for one, other in zip(first.layout.lines, second.layout.lines, strict=True)]
    assert same == [True, False, True, True]
    assert second.layout.lines[0].labels is second.layout.lines[2].labels


def test_a_bad_line_costs_itself_and_is_quoted() -> None:
    page = Parser().parse(SECOND_PAGES["text as value"])
    assert len(page.values) == 3
    (bad,) = page.bad_lines
    assert bad.number == 3
    assert bad.text.startswith("DCGM_FI_DEV_GPU_UTIL{gpu")
    assert "ERROR" in bad.text
    assert bad.why == "'ERROR' is no number"


def test_bad_lines_are_counted_beyond_those_kept_and_quoted_in_bounds() -> None:
    page = Parser().parse((b"!" * 10_000 + b"\n") * 50)
    assert page.bad_count == 50
    assert len(page.bad_lines) == 20
    assert max(len(bad.text) for bad in page.bad_lines) == 200


def test_a_page_without_its_last_line_feed_is_cut_off() -> None:
    page = Parser().parse(PAGE[:-1])
    assert not page.complete
    assert page.bad_lines[-1].text == "up 1"
    assert len(page.values) == 3


def test_openmetrics_without_its_end_is_cut_off_and_nothing_stands_behind_it() -> None:
    parser = Parser()
    assert not parser.parse(b"x 1\n", openmetrics=True).complete
    page = parser.parse(b"x 1\n# EOF\ny 2\n", openmetrics=True)
    assert page.complete
    assert [s.name for s in page.samples()] == ["x"]
    assert page.bad_lines[0].why == "there is a line after # EOF"


def test_the_format_may_change_from_page_to_page() -> None:
    parser = Parser()
    page = b'x{a="b",} 1\n# EOF\n'
    assert len(parser.parse(page).values) == 1
    assert len(parser.parse(page, openmetrics=True).values) == 0
    assert len(parser.parse(page).values) == 1


def test_values_are_doubles() -> None:
    values = Parser().parse(b"a 9223372036854775794\nb 1e400\nc -0\n").values
    assert values.dtype == np.float64
    assert values.tolist() == [9223372036854775794.0, float("inf"), 0.0]


@given(st.binary(max_size=200))
def test_no_bytes_raise(page: bytes) -> None:
    parser = Parser()
    parser.parse(PAGE)
    assert what(parser.parse(page)) == alone(page)
    assert what(parser.parse(page, openmetrics=True)) == alone(page, openmetrics=True)
