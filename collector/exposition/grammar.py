"""The grammar of a line: Prometheus' text format 0.0.4 and OpenMetrics 1.0, as prometheus_client reads them.

Where this grammar and prometheus_client part, tests/exposition/test_differential.py says so, one rule each.
Names in quotes (UTF-8) are taken in both formats. A line is judged by itself: what a family's samples mean
together (buckets in order, groups interleaved) costs no sample.
"""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from math import isfinite

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_TEXT = r'[^"\\]*(?:\\.[^"\\]*)*'
_ITEM = re.compile(rf'[ \t]*(?:({_NAME})|"({_TEXT})")[ \t]*(?:=[ \t]*"({_TEXT})"[ \t]*)?', re.DOTALL)
_BLANKS = re.compile(r"[ \t]*")
_TEXT_HEAD = re.compile(rf"[ \t]*({_NAME})?[ \t]*(\{{)?")
_OPENMETRICS_HEAD = re.compile(rf"({_NAME})?(\{{)?")
_SPECIAL = r"[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]"
NUMBER = rf"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|{_SPECIAL})"
_NUMBER = re.compile(NUMBER)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_TEXT_META = re.compile(
    rf'[ \t]*#[ \t]+(HELP|TYPE)(?:[ \t]+({_NAME}|"{_TEXT}")(?=[ \t]|$)|(?=[ \t]*$))[ \t]*(.*)', re.DOTALL
)
_TEXT_META_BEGIN = re.compile(r"[ \t]*#[ \t]+(?:HELP|TYPE)(?=[ \t]|$)")
_OPENMETRICS_META = re.compile(rf'# +(HELP|TYPE|UNIT) +({_NAME}|"{_TEXT}") +(.*)', re.DOTALL)
_ESCAPE = re.compile(r'\\([\\n"])')
_TYPES = {"counter", "gauge", "summary", "histogram", "gaugehistogram", "unknown", "info", "stateset"}
_LONGEST_EXEMPLAR = 128
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a value: the name, the labels, and where it ends in the line."""

    name: str
    labels: Mapping[str, str]
    end: int


def check_comment(line: str, *, openmetrics: bool) -> None:
    """Nothing, for a line that begins with `#` and is right. Raises ValueError that says what is wrong."""
    if openmetrics:
        found = _OPENMETRICS_META.fullmatch(line)
        if found is None:
            raise ValueError("this is neither HELP, TYPE, UNIT nor EOF of a metric with a right name")
        keyword, name, rest = found.groups()
        if not unquote(name):
            raise ValueError("the metric's name is empty")
        if keyword == "TYPE" and rest not in _TYPES:
            raise ValueError(f"{rest[:40]!r} is no type of OpenMetrics")
        if keyword == "UNIT" and rest and not unquote(name).endswith("_" + rest):
            raise ValueError("the name does not end in the unit")
    elif _TEXT_META_BEGIN.match(line):
        found = _TEXT_META.fullmatch(line)
        if found is None:
            raise ValueError("the metric's name is not right")
        if found[1] == "TYPE" and found[3].rstrip(" \t") not in _TYPES | {"untyped"}:
            raise ValueError(f"{found[3][:40]!r} is no type")


def read_head(
    line: str, *, openmetrics: bool, known_labels: MutableMapping[str, Mapping[str, str]] | None = None
) -> Head:
    """The name and labels that a sample's line begins with.

    `known_labels` remembers label sets by their text, from brace to brace: lines of a page share few of them.
    Raises ValueError that says what is wrong.
    """
    found = (_OPENMETRICS_HEAD if openmetrics else _TEXT_HEAD).match(line)
    name, brace = (found[1], found[2]) if found else (None, None)
    if found is None or (name is None and brace is None):
        raise ValueError("there is no metric's name")
    if name is not None and brace is None:
        if line[found.end(1) : found.end(1) + 1] not in {" ", "\t"}:
            raise ValueError("the metric's name is not right, or has no value")
        return Head(name, {}, found.end(1))
    known: MutableMapping[str, Mapping[str, str]] = {} if known_labels is None else known_labels
    end = line.rfind("}") + 1
    labels = known.get(line[found.end() : end])
    if labels is None:
        labels, end = read_labels(line, found.end(), openmetrics=openmetrics)
        known[line[found.end() : end]] = labels
    if (name is None) == ("__name__" not in labels):
        raise ValueError("there is no metric's name" if name is None else "the metric has two names")
    if name is not None:
        return Head(name, labels, end)
    if not labels["__name__"]:
        raise ValueError("the metric's name is empty")
    return Head(labels["__name__"], {key: value for key, value in labels.items() if key != "__name__"}, end)


def read_labels(line: str, start: int, *, openmetrics: bool) -> tuple[dict[str, str], int]:
    """The labels from behind their `{` on, and the place behind their `}`. A quoted name alone is `__name__`.

    Raises ValueError that says what is wrong.
    """
    labels: dict[str, str] = {}
    place = _skip(line, start)
    if line[place : place + 1] == "," and not openmetrics:
        place = _skip(line, place + 1)
    if line[place : place + 1] == "}":
        return labels, place + 1
    while True:
        found = _ITEM.match(line, place)
        if found is None:
            raise ValueError(f"no label is to be read at character {place + 1}")
        _add(labels, *found.groups())
        place = found.end()
        mark = line[place : place + 1]
        if mark == ",":
            place = _skip(line, place + 1)
            if line[place : place + 1] == "}" and not openmetrics:
                return labels, place + 1
        elif mark == "}":
            return labels, place + 1
        else:
            raise ValueError(f"neither a comma nor a brace ends the label at character {place + 1}")


def read_text_tail(tail: str) -> tuple[float, int | None]:
    """The value and the timestamp (ms, None: none) behind a head of the text format. Raises ValueError."""
    tokens = [token for token in tail.replace("\t", " ").split(" ") if token]
    if not tokens:
        raise ValueError("there is no value")
    value = read_number(tokens[0])
    if len(tokens) == 1:
        return value, None
    if len(tokens) > 2:
        raise ValueError("there is more than a value and a timestamp")
    if not _INTEGER.fullmatch(tokens[1]) or not -_INT64 < int(tokens[1]) < _INT64:
        raise ValueError(f"{tokens[1]!r} is no timestamp in whole milliseconds")
    return value, int(tokens[1])


def read_openmetrics_tail(tail: str) -> tuple[float, int | None]:
    """The value and, where there is one, the timestamp (as ms, rounded down) behind a head of OpenMetrics.

    An exemplar is checked and dropped. Raises ValueError.
    """
    if not tail.startswith(" "):
        raise ValueError("one blank belongs before the value")
    own, mark, exemplar = tail[1:].partition(" # ")
    tokens = own.split(" ")
    if len(tokens) > 2:
        raise ValueError("there is more than a value and a timestamp")
    value = read_number(tokens[0])
    stamp = _seconds(tokens[1]) if len(tokens) == 2 else None
    if mark:
        _check_exemplar(exemplar)
    return value, stamp


def read_number(text: str) -> float:
    """A number as both formats write it; digits are ASCII, and `_` is none. Raises ValueError."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no number")
    return float(text)


def unquote(text: str) -> str:
    """The text that stands in quotes, its escapes (backslash, n, quote) resolved; bare text as it is."""
    return unescape(text[1:-1]) if text.startswith('"') else text


def unescape(text: str) -> str:
    """The text with its escapes resolved; a backslash before anything else stays."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], text)


def _skip(line: str, place: int) -> int:
    found = _BLANKS.match(line, place)
    return found.end() if found else place


def _add(labels: dict[str, str], bare: str | None, quoted: str | None, value: str | None) -> None:
    if value is None:
        if quoted is None:
            raise ValueError(f"the label {bare} has no value")
        bare, quoted, value = "__name__", None, quoted
    name = unescape(quoted) if quoted is not None else bare or ""
    if name.startswith("__") and name != "__name__":
        raise ValueError(f"the label {name} is reserved")
    if name in labels:
        raise ValueError(f"the label {name} is there twice")
    labels[name] = unescape(value)


def _seconds(text: str) -> int:
    if not isfinite(read_number(text)):
        raise ValueError(f"{text!r} is no timestamp in seconds")
    stamp = int((Decimal(text) * 1000).to_integral_value(ROUND_FLOOR))
    if not -_INT64 < stamp < _INT64:
        raise ValueError(f"{text[:40]!r} is no timestamp in seconds")
    return stamp


def _check_exemplar(text: str) -> None:
    if not text.startswith("{"):
        raise ValueError("the exemplar has no labels")
    labels, end = read_labels(text, 1, openmetrics=True)
    if sum(len(name) + len(value) for name, value in labels.items()) > _LONGEST_EXEMPLAR:
        raise ValueError("the exemplar's labels are longer than 128 characters")
    if text[end : end + 1] != " ":
        raise ValueError("the exemplar has no value")
    tokens = text[end + 1 :].split(" ")
    if len(tokens) > 2:
        raise ValueError("the exemplar has more than a value and a timestamp")
    read_number(tokens[0])
    if len(tokens) == 2:
        _seconds(tokens[1])
