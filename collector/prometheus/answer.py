"""A Prometheus' answer to a query: its JSON as columns, with no Python object a sample; pure.

    [[1700000000.123,"0.5"],[1700000030.123,"0.75"]]   →   1700000000.123,0.5,⏎1700000030.123,0.75,⏎

One `bytes.translate` turns the samples of many series into lines of a table, which a CSV reader turns into
numbers, piece by piece as the answer comes: a piece stays in the processor's cache, and no answer is held whole
(docs/adr/0015). What is laid out otherwise goes the long way, with the same result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import orjson
import polars as pl

Instants = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_FIRST = b'{"metric":'
_BETWEEN = b'"]]},{"metric":'
_VALUES = b',"values":[['
_LAST = b'"]]}'
_TABLE = bytes.maketrans(b'"]', b",\n")
_COLUMNS = {"column_1": pl.Float64, "column_2": pl.Float64, "column_3": pl.String}
# So much of an answer is understood at once; and before so much of it the first series must begin.
_AT_ONCE, _BEGINNING = 2 << 20, 64 << 10
_LATEST_S = 1e12  # beyond it no timestamp is one


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A range vector. The samples of series i stand at [starts[i], starts[i + 1]) of `at_ms` and `values`.

    heads      each series' labels as JSON text (`__name__` among them); the same text, the same labels
    warnings   what the server says is missing, or else wrong with it; then the answer may be a part only
    """

    heads: tuple[bytes, ...]
    starts: Instants
    at_ms: Instants
    values: Floats
    warnings: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        """How many samples it has."""
        return len(self.at_ms)


class NoAnswer(ValueError):  # noqa: N818
    """The text is no answer of a Prometheus to a range query; the message says what it is."""


class Reading:
    """An answer while it comes: `feed` takes the next bytes of a response's body, `answer` is for its end."""

    def __init__(self) -> None:
        self._before: bytes | None = None  # what stands before the first series
        self._waiting: list[bytes] = []  # what has come and is not understood yet
        self._size, self._due = 0, _AT_ONCE
        self._parts: list[_Part] = []

    def feed(self, piece: bytes) -> None:
        """The next bytes. Raises NoAnswer."""
        self._waiting.append(piece)
        self._size += len(piece)
        if self._size < self._due:
            return
        text = self._text()
        cut = text.rfind(_BETWEEN) if self._before is not None else -1
        if cut < 0:
            self._wait(text, 2 * len(text))
            return
        self._parts.append(_part(text[:cut]))
        rest = text[cut + len(_BETWEEN) :]
        self._wait(rest, len(rest) + _AT_ONCE)

    def answer(self) -> Answer:
        """The whole answer, once nothing more comes. Raises NoAnswer."""
        text, before = self._text(), self._before
        last = text.rfind(_LAST)
        envelope = None if before is None or last < 0 else _envelope(before + text[last + len(_LAST) :])
        if envelope is not None and envelope.get("resultType") == "matrix" and envelope.get("result") == []:
            end = _part(text[:last])
        else:
            whole = text if before is None else before + _FIRST + text
            envelope = _envelope(whole)
            if envelope is None:
                raise NoAnswer(f"it is no answer of a Prometheus, but {' '.join(_shown(whole).split())!r}")
            end = _series(envelope)
        parts = [*self._parts, end]
        return Answer(
            tuple(head for part in parts for head in part.heads),
            _starts([count for part in parts for count in part.counts]),
            np.concatenate([part.at_ms for part in parts]),
            np.concatenate([part.values for part in parts]),
            envelope["warnings"],
        )

    def _text(self) -> bytes:
        """What waits, from the first series on once that has begun."""
        text = b"".join(self._waiting)
        if self._before is None and (first := text.find(_FIRST, 0, _BEGINNING)) >= 0:
            self._before, text = text[:first], text[first + len(_FIRST) :]
        return text

    def _wait(self, rest: bytes, due: int) -> None:
        self._waiting, self._size, self._due = [rest], len(rest), due


def labels_of(head: bytes) -> dict[str, str]:
    """The labels of a series' head. Raises NoAnswer."""
    try:
        labels: object = orjson.loads(head)
    except orjson.JSONDecodeError as error:
        raise NoAnswer(f"a series' labels are no JSON: {error}") from error
    if not isinstance(labels, dict):
        raise NoAnswer("a series' labels are no object")
    return {str(key): str(value) for key, value in cast(dict[object, object], labels).items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some series of an answer, one after the other: their heads, how many samples each has, and the samples."""

    heads: Sequence[bytes]
    counts: Sequence[int]
    at_ms: Instants
    values: Floats

    def __post_init__(self) -> None:
        rises = np.diff(self.at_ms) > 0
        firsts = _starts(self.counts)
        rises[firsts[(firsts > 0) & (firsts < len(self.at_ms))] - 1] = True
        if not rises.all():
            raise NoAnswer("its timestamps do not rise")


def _part(text: bytes) -> _Part:
    """Series as servers write them, from behind the first `{"metric":` to before the last `"]]}`."""
    found = _fast(text)
    if found is not None:
        return found
    try:
        return _series({"resultType": "matrix", "result": orjson.loads(b"[" + _FIRST + text + _LAST + b"]")})
    except orjson.JSONDecodeError as error:
        raise NoAnswer(f"its series are no JSON: {error}") from error


def _fast(text: bytes) -> _Part | None:
    """Such series; None where they are not laid out so."""
    heads: list[bytes] = []
    texts: list[bytes] = []
    for piece in text.split(_BETWEEN):
        head, found, samples = piece.partition(_VALUES)
        if not found or _FIRST in head:
            return None
        heads.append(head)
        texts.append(samples)
    counts = [samples.count(b"[") + 1 for samples in texts]
    numbers = _numbers((b'"],['.join(texts) + b'"]').translate(_TABLE, b",["), sum(counts))
    return None if numbers is None else _Part(heads, counts, *numbers)


def _numbers(table: bytes, count: int) -> tuple[Instants, Floats] | None:
    """The two columns of a table of `count` lines; None where it is none."""
    if b"\r" in table:
        return None
    try:
        columns = pl.read_csv(
            table,
            has_header=False,
            schema=_COLUMNS,
            columns=["column_1", "column_2"],
            null_values=["NaN"],
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None
    at, values = columns["column_1"], columns["column_2"]
    if columns.height != count or at.null_count():
        return None
    return _milliseconds(at.to_numpy()), values.to_numpy()


def _milliseconds(seconds: Floats) -> Instants:
    if not (np.abs(seconds) < _LATEST_S).all():
        raise NoAnswer("a timestamp is no instant")
    return np.rint(seconds * 1000).astype(np.int64)


def _starts(counts: Sequence[int]) -> Instants:
    return np.concatenate([[0], np.cumsum(np.array(counts, np.int64))]).astype(np.int64)


def _envelope(text: bytes) -> dict[str, Any] | None:
    """What stands around the result: its type, the warnings; None for what is no success."""
    try:
        outer: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(outer, dict):
        return None
    told = cast(dict[str, Any], outer)
    data = told.get("data")
    if told.get("status") != "success" or not isinstance(data, dict):
        return None
    warned = told.get("warnings")
    warnings = [str(each) for each in cast(list[object], warned)] if isinstance(warned, list) else []
    if told.get("isPartial") is True:  # as VictoriaMetrics says it
        warnings.append("the answer is partial")
    return {**cast(dict[str, Any], data), "warnings": tuple(warnings)}


def _series(data: Mapping[str, Any]) -> _Part:
    """The series of a range vector that was decoded, however its JSON was laid out."""
    result: object = data.get("result")
    if data.get("resultType") != "matrix" or not isinstance(result, list):
        raise NoAnswer(f"it is a {data.get('resultType')!r}, no range of samples")
    heads: list[bytes] = []
    counts: list[int] = []
    pairs: list[tuple[float, float]] = []
    try:
        for series in cast(list[Mapping[str, Any]], result):
            samples = cast(list[tuple[float, str]], series.get("values") or [])
            heads.append(orjson.dumps(series["metric"]))
            counts.append(len(samples))
            pairs += [(float(at), float(value)) for at, value in samples]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise NoAnswer(f"its series are not laid out as they should be: {error}") from error
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return _Part(heads, counts, _milliseconds(table[:, 0]), table[:, 1])


def _shown(text: bytes) -> str:
    return text[:80].decode("utf-8", "replace")
