# ruff: noqa: E501  (tables of lines; a seeded generator)
"""The grammar against prometheus_client's parsers, line by line: names, labels, values, timestamps, errors.

prometheus_client ends at the first bad line; here a bad line costs itself. So each line is a page of its own
there, and one line among many here. Where the two part, RULES says how and why; what no rule explains is a fault
of ours.
"""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families
from prometheus_client.samples import Timestamp

from collector.exposition.parse import Parser

LEGACY = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Outcome:
    """What a parser makes of a line: a sample, nothing (a comment), or an error with its words."""

    kind: str  # sample | nothing | error
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    value: float | None = None
    stamp_ms: float | None = None
    words: str = ""


@dataclass(frozen=True)
class Case:
    """A line, what both make of it, and its text outside quotes."""

    line: str
    theirs: Outcome
    ours: Outcome
    bare: str
    openmetrics: bool


def theirs_on(line: str, *, openmetrics: bool, before: str = "") -> Outcome:
    """What prometheus_client makes of a page of this line alone."""
    page = f"{before}{line}\n# EOF\n" if openmetrics else f"{before}{line}\n"
    try:
        families = list(openmetrics_families(page) if openmetrics else text_families(page))
    except Exception as error:  # noqa: BLE001  (it raises ValueError, IndexError and OverflowError)
        return Outcome("error", words=str(error))
    samples = [sample for family in families for sample in family.samples]
    if not samples:
        return Outcome("nothing")
    (sample,) = samples
    return Outcome(
        "sample",
        sample.name,
        tuple(sorted(sample.labels.items())),
        _float(sample.value),
        _milliseconds(sample.timestamp, openmetrics),
    )


def ours_on(lines: list[str], *, openmetrics: bool, parser: Parser | None = None) -> list[Outcome]:
    """What the parser makes of each line of a page of all of them."""
    text = "".join(line + "\n" for line in lines) + ("# EOF\n" if openmetrics else "")
    page = (parser or Parser()).parse(text.encode(), openmetrics=openmetrics)
    outcomes = [
        Outcome("sample", s.name, tuple(sorted(s.labels.items())), s.value, s.timestamp_ms)
        for s in page.samples()
    ]
    assert page.complete
    assert len(outcomes) + page.bad_count <= len(lines)
    return outcomes


def our_single(line: str, *, openmetrics: bool) -> Outcome:
    """What the parser makes of one line."""
    page = Parser().parse((line + ("\n# EOF\n" if openmetrics else "\n")).encode(), openmetrics=openmetrics)
    if page.bad_count:
        (bad,) = page.bad_lines
        assert bad.number == 1
        assert bad.text == line[:200]
        return Outcome("error", words=bad.why)
    samples = list(page.samples())
    if not samples:
        return Outcome("nothing")
    (s,) = samples
    return Outcome("sample", s.name, tuple(sorted(s.labels.items())), s.value, s.timestamp_ms)


def alike(theirs: Outcome, ours: Outcome, *, openmetrics: bool) -> bool:
    """The same answer; prometheus_client's integers count as the double that Prometheus keeps."""
    if (theirs.kind, theirs.name, theirs.labels) != (ours.kind, ours.name, ours.labels):
        return False
    if theirs.kind != "sample":
        return True
    assert theirs.value is not None
    assert ours.value is not None
    same = theirs.value == ours.value or (math.isnan(theirs.value) and math.isnan(ours.value))
    if theirs.stamp_ms is None or ours.stamp_ms is None:
        return same and theirs.stamp_ms is ours.stamp_ms
    slack = 1 + abs(ours.stamp_ms) * 1e-12 if openmetrics else abs(ours.stamp_ms) * 1e-12
    return same and abs(theirs.stamp_ms - ours.stamp_ms) <= slack


# Each rule: what they do and why we do not. A rule explains a difference only where its condition holds.
def _bare_word(case: Case) -> bool:
    """Without a blank they take the last letter off for the name and read all as the value: `inf` is `in`."""
    return (
        case.theirs.kind == "sample"
        and case.ours.kind == "error"
        and not re.search("[ \t]" if not case.openmetrics else " ", case.line.strip())
    )


def _odd_blanks_and_digits(case: Case) -> bool:
    """They strip all white space of Unicode and read all its digits; the formats know blank, tab and ASCII."""
    return any(not char.isascii() or ord(char) < 32 for char in case.bare)


def _name_before_labels(case: Case) -> bool:
    """They do not look at a name that stands before labels: `two words{} 1`, `"quoted"{} 1`."""
    name = case.bare.partition("{")[0]
    right = LEGACY.fullmatch(name if case.openmetrics else name.strip()) or not name.strip()
    return case.theirs.kind == "sample" and case.ours.kind == "error" and "{" in case.bare and not right


def _after_the_value(case: Case) -> bool:
    """In the text format they take any numbers behind the value, the last as timestamp; exemplars too."""
    if case.openmetrics or case.theirs.kind == "nothing" or case.ours.kind != "error":
        return False
    tokens = re.sub(r"[^{ \t]*[ \t]*(\{[^}]*\})?", "", case.bare.lstrip(), count=1).split()
    return len(tokens) > 2 or (len(tokens) == 2 and not _int64(tokens[1]))


def _empty_terms(case: Case) -> bool:
    """In the text format they pass over a label without a value, and over commas with blanks between them."""
    return not case.openmetrics and bool(re.search(r",[ \t]+,|=[ \t]*[,}]", case.bare))


def _backslash_outside(case: Case) -> bool:
    """They resolve escapes in names that are not quoted."""
    return "\\" in case.bare


def _several_quotes(case: Case) -> bool:
    """They take `"a" "b"="c"` for a label whose name has quotes in it, and `# TYPE "a""b" gauge` for a metric."""
    if case.line.lstrip().startswith("#"):
        return bool(re.search(r'""[^ \t]*"', case.bare))
    return bool(re.search(r'""[^,{}]*""\s*=', case.bare))


def _glued_comment(case: Case) -> bool:
    """They read `#x TYPE y` as metadata; a comment's word is behind `#` and a blank."""
    return case.line.strip().startswith("#") and case.line.split()[0] != "#"


def _brace_then_anything(case: Case) -> bool:
    """In OpenMetrics they drop one character after the labels, whatever it is: `x{}11` is 1."""
    return case.openmetrics and case.ours.kind == "error" and bool(re.search(r"\}[^ ]", case.bare))


def _utf8_name(case: Case) -> bool:
    """In OpenMetrics they refuse a quoted UTF-8 name that no TYPE line has announced."""
    return (
        case.openmetrics
        and case.ours.kind == "sample"
        and case.theirs.kind == "error"
        and not LEGACY.fullmatch(case.ours.name)
    )


def _families(case: Case) -> bool:
    """What a family may have (exemplars, signs) is theirs to judge; here an exemplar is checked and dropped."""
    return case.openmetrics and case.theirs.words.startswith(
        ("Invalid line only histogram", "Counter-like samples", "Clashing name")
    )


def _openmetrics_stamps(case: Case) -> bool:
    """They split a timestamp at its point: `-0.5` becomes +0.5 s, `1.+5` a number; and they have no bound."""
    if not case.openmetrics or case.theirs.kind != "sample":
        return False
    own = case.bare.partition("}")[2] if "{" in case.bare.partition(" # ")[0] else case.bare
    stamps = [token for part in own.split(" # ") for token in part.split(" ")[1:]]
    return any(
        stamp.startswith("-") or not NUMBER.fullmatch(stamp) or abs(float(stamp)) > 9e15 for stamp in stamps
    )


def _quote_in_exemplar(case: Case) -> bool:
    """They lose count of quotes when an exemplar's label has an escaped one."""
    return (
        case.openmetrics
        and case.theirs.kind == "error"
        and " # " in case.line
        and '\\"' in case.line.partition(" # ")[2]
    )


def _carriage_return(case: Case) -> bool:
    """In OpenMetrics they refuse a carriage return at the line's end."""
    return case.openmetrics and case.line.endswith("\r")


RULES: list[Callable[[Case], bool]] = [
    _bare_word, _odd_blanks_and_digits, _name_before_labels, _after_the_value, _empty_terms, _backslash_outside, _several_quotes, _glued_comment,
    _brace_then_anything, _utf8_name, _families, _openmetrics_stamps, _quote_in_exemplar, _carriage_return,
]  # fmt: skip

EXAMPLES = [  # rule, OpenMetrics?, line, theirs, ours
    (_bare_word, False, "inf", "sample", "error"),
    (_bare_word, True, "nan", "sample", "error"),
    (_odd_blanks_and_digits, False, "x ٣", "sample", "error"),
    (_odd_blanks_and_digits, False, "x 1\u00a0", "sample", "error"),
    (_name_before_labels, False, "two words{} 1", "sample", "error"),
    (_name_before_labels, True, '"quoted"{a="b"} 1', "sample", "error"),
    (_after_the_value, False, "x 1 2 3", "sample", "error"),
    (_after_the_value, False, "x 1 1.5", "sample", "error"),
    (_after_the_value, False, "x 1 NaN", "sample", "error"),
    (_after_the_value, False, "x 1 99999999999999999999", "sample", "error"),
    (_after_the_value, False, 'x_total{a="b"} 1 # {t="u"} 2', "sample", "error"),
    (_empty_terms, False, 'x{a="b", , c="d"} 1', "sample", "error"),
    (_empty_terms, False, "x{a=} 1", "sample", "error"),
    (_backslash_outside, False, 'x{a\\n="b"} 1', "sample", "error"),
    (_several_quotes, False, 'x{"a" "b"="c"} 1', "sample", "error"),
    (_several_quotes, False, '# TYPE "a""b" gauge', "nothing", "error"),
    (_glued_comment, False, "#x TYPE y", "error", "nothing"),
    (_glued_comment, True, "#x HELP y z", "nothing", "error"),
    (_brace_then_anything, True, "x{}11", "sample", "error"),
    (_utf8_name, True, '{"my.metric"} 1', "error", "sample"),
    (_families, True, 'x 1 # {a="b"} 1', "error", "sample"),
    (_openmetrics_stamps, True, "x 1 -0.5", "sample", "sample"),
    (_openmetrics_stamps, True, "x 1 1.+5", "sample", "error"),
    (_quote_in_exemplar, True, 'x_total 1 # {a="\\""} 1', "error", "sample"),
    (_carriage_return, True, "x 1\r", "error", "sample"),
]


@pytest.mark.parametrize(("rule", "openmetrics", "line", "theirs", "ours"), EXAMPLES)
def test_where_the_two_part(
    rule: Callable[[Case], bool], openmetrics: bool, line: str, theirs: str, ours: str
) -> None:
    case = _case(line, openmetrics=openmetrics)
    assert (case.theirs.kind, case.ours.kind) == (theirs, ours)
    assert not alike(case.theirs, case.ours, openmetrics=openmetrics)
    assert rule(case)


@pytest.mark.parametrize("openmetrics", [False, True], ids=["text", "openmetrics"])
@given(seed=st.integers(0, 2**64))
@pytest.mark.patient
def test_generated_lines(
    openmetrics: bool,
    make_line: Callable[[random.Random], str],
    damage: Callable[[random.Random, str], str],
    seed: int,
) -> None:
    _compare(random.Random(seed), 80, make_line, damage, openmetrics=openmetrics)


@pytest.mark.soak
@pytest.mark.parametrize("openmetrics", [False, True], ids=["text", "openmetrics"])
def test_a_million_generated_lines(
    openmetrics: bool, make_line: Callable[[random.Random], str], damage: Callable[[random.Random, str], str]
) -> None:
    for seed in range(2_600):
        _compare(random.Random(seed), 200, make_line, damage, openmetrics=openmetrics)


@pytest.mark.parametrize("openmetrics", [False, True], ids=["text", "openmetrics"])
@given(
    line=st.text(
        st.sampled_from(list('ab_{}",=\\# \t01.-+eEnNiIf\r'))
        | st.characters(exclude_characters="\n", codec="utf-8"),
        max_size=40,
    )
)
def test_any_text(openmetrics: bool, line: str) -> None:
    if line.rstrip("\r") != "# EOF":
        _explain(_case(line, openmetrics=openmetrics))


_word = st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=12)


@given(
    name=st.from_regex(LEGACY, fullmatch=True),
    labels=st.dictionaries(st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]*", fullmatch=True), _word, max_size=5),
    value=st.floats() | st.integers(),
    stamp=st.none() | st.integers(-(2**40), 2**50),
)
def test_what_was_written_is_read(name: str, labels: dict[str, str], value: float, stamp: int | None) -> None:
    """A sample as an exporter writes it comes back; and prometheus_client agrees."""
    escaped = {key: text.replace("\\", r"\\").replace('"', r"\"") for key, text in labels.items()}
    line = (
        name
        + "{"
        + ",".join(f'{key}="{text}"' for key, text in escaped.items())
        + "} "
        + repr(value)
        + ("" if stamp is None else f" {stamp}")
    )
    expected = Outcome("sample", name, tuple(sorted(labels.items())), _float(value), stamp)
    assert alike(expected, our_single(line, openmetrics=False), openmetrics=False)
    assert alike(theirs_on(line, openmetrics=False), expected, openmetrics=False)


def test_a_quoted_name_that_was_announced_is_the_same_in_both() -> None:
    before, line = '# TYPE "my.metric" gauge\n', '{"my.metric", a="b"} 5 1700000000.25'
    theirs = theirs_on(line, openmetrics=True, before=before)
    assert theirs.name == "my.metric"
    assert alike(theirs, our_single(line, openmetrics=True), openmetrics=True)


def test_an_exemplar_of_a_counter_is_dropped_and_its_sample_the_same() -> None:
    line = 'x_total{a="b"} 5 1700000000 # {trace="abc"} 0.5 1700000000.123'
    theirs = theirs_on(line, openmetrics=True, before="# TYPE x counter\n")
    assert theirs.kind == "sample"
    assert alike(theirs, our_single(line, openmetrics=True), openmetrics=True)


def _compare(rng: random.Random, count: int, make_line: Any, damage: Any, *, openmetrics: bool) -> None:
    lines = [make_line(rng) if rng.random() < 0.5 else damage(rng, make_line(rng)) for _ in range(count)]
    lines = [line for line in lines if line.rstrip("\r") != "# EOF"]
    cases = [_case(line, openmetrics=openmetrics) for line in lines]
    for case in cases:
        _explain(case)
    # The page of them all says what its lines say: no line costs another.
    assert str(ours_on(lines, openmetrics=openmetrics)) == str(
        [case.ours for case in cases if case.ours.kind == "sample"]
    )


def _explain(case: Case) -> None:
    if not alike(case.theirs, case.ours, openmetrics=case.openmetrics):
        assert any(rule(case) for rule in RULES), f"no rule explains: {case}"


def _case(line: str, *, openmetrics: bool) -> Case:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.rstrip("\r"), flags=re.DOTALL)
    return Case(
        line,
        theirs_on(line, openmetrics=openmetrics),
        our_single(line, openmetrics=openmetrics),
        bare,
        openmetrics,
    )


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _milliseconds(stamp: Any, openmetrics: bool) -> float | None:
    if stamp is None:
        return None
    if isinstance(stamp, Timestamp):
        return stamp.sec * 1000 + stamp.nsec / 1e6
    return stamp * 1000


def _int64(text: str) -> bool:
    return bool(INTEGER.fullmatch(text)) and abs(int(text)) < 2**63
