"""A page line by line: heads that the last page had are looked up, other lines go through the grammar."""

import re
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.exposition import grammar
from collector.exposition.page import NO_TIMESTAMP, BadLines, Line

_TEXT_TAIL = re.compile(rf"({grammar.NUMBER})(?: ([0-9]{{1,18}}))?".encode())
_OPENMETRICS_TAIL = re.compile(rf"({grammar.NUMBER})()".encode())
_DIGITS = b"0123456789"
_NO_DIGITS = {b"", b"."}
_CUT_OFF = "the page is cut off within this line"


class Found(NamedTuple):
    """One sample of a page, and where it stands."""

    line: Line
    value: float
    stamp: int  # milliseconds; NO_TIMESTAMP where there is none
    place: int  # where the value begins in the page
    key: bytes  # line feed, head and one blank: what `heads` are looked up by; empty without that blank


@dataclass(slots=True)
class Lines:
    """What a page holds.

    found      its samples, in order
    comments   its comment lines that are right
    bad        its lines that are not
    ended      OpenMetrics' `# EOF` was there
    cut_off    the last line has no line feed
    """

    found: list[Found] = field(default_factory=list[Found])
    comments: set[bytes] = field(default_factory=set[bytes])
    bad: BadLines = field(default_factory=BadLines)
    ended: bool = False
    cut_off: bool = False


def read_lines(
    page: bytes, heads: Mapping[bytes, Line], comments: Container[bytes], *, openmetrics: bool
) -> Lines:
    """The page's samples. A line that cannot be read is counted in `bad` and costs nothing else."""
    result = Lines()
    grammar_reader = _Reader(result, openmetrics=openmetrics)
    plain_tail = (_OPENMETRICS_TAIL if openmetrics else _TEXT_TAIL).fullmatch
    add = result.found.append
    start = 0
    raw_lines = page.split(b"\n")
    rest = raw_lines.pop()
    for number, raw in enumerate(raw_lines, 1):
        # A hot path too: one look-up a line, and the grammar's tail only for what is no plain decimal.
        cut = (raw.rfind(b"}") + 1 or raw.find(b" ")) + 1
        key = b"\n" + raw[:cut]
        line = heads.get(key)
        if line is None or result.ended:
            if result.ended:
                result.bad.add(number, raw, "there is a line after # EOF")
            elif raw in comments:
                result.comments.add(raw)
            else:
                grammar_reader.read(number, raw, start)
        elif (text := raw[cut:]).translate(None, _DIGITS) in _NO_DIGITS and text not in _NO_DIGITS:
            add(Found(line, float(text), NO_TIMESTAMP, start + cut, key))
        elif (tail := plain_tail(text)) is not None:
            value, stamp = tail.groups()
            add(Found(line, float(value), int(stamp) if stamp else NO_TIMESTAMP, start + cut, key))
        else:
            grammar_reader.read(number, raw, start)
        start += len(raw) + 1
    if rest:
        result.cut_off = True
        result.bad.add(len(raw_lines) + 1, rest, _CUT_OFF)
    return result


class _Reader:
    """The grammar over single lines, what they say added to the result."""

    def __init__(self, result: Lines, *, openmetrics: bool) -> None:
        self._result = result
        self._openmetrics = openmetrics
        self._known_labels: dict[str, Mapping[str, str]] = {}

    def read(self, number: int, raw: bytes, start: int) -> None:
        """Add what the line says, or count it as bad."""
        try:
            text = raw.decode().rstrip("\r")
        except UnicodeDecodeError:
            self._result.bad.add(number, raw, "the line is not UTF-8")
            return
        begin = text if self._openmetrics else text.lstrip(" \t")
        try:
            if begin.startswith("#"):
                self._read_comment(raw, text)
            elif begin:
                self._read_sample(raw, text, start)
            elif self._openmetrics:
                self._result.bad.add(number, raw, "the line is blank")
        except ValueError as error:
            self._result.bad.add(number, raw, str(error))

    def _read_comment(self, raw: bytes, text: str) -> None:
        if self._openmetrics and text == "# EOF":
            self._result.ended = True
            return
        grammar.check_comment(text, openmetrics=self._openmetrics)
        self._result.comments.add(raw)

    def _read_sample(self, raw: bytes, text: str, start: int) -> None:
        head = grammar.read_head(text, openmetrics=self._openmetrics, known_labels=self._known_labels)
        read_tail = grammar.read_openmetrics_tail if self._openmetrics else grammar.read_text_tail
        value, stamp = read_tail(text[head.end :])
        cut = len(text[: head.end].encode())
        place = start + len(raw) - len(raw[cut:].lstrip(b" \t"))
        line = Line(sys.intern(head.name), head.labels)
        key = b"\n" + raw[: cut + 1] if raw[cut : cut + 1] == b" " else b""
        self._result.found.append(Found(line, value, NO_TIMESTAMP if stamp is None else stamp, place, key))
