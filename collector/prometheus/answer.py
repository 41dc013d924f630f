"""A Prometheus' answer to a query: its JSON as columns, with no Python object a sample; pure.

    [[1700000000.123,"0.5"],[1700000030.123,"0.75"]]   →   1700000000.123,0.5,⏎1700000030.123,0.75,⏎

One `bytes.translate` turns the samples of all series into lines of a table, which a CSV reader turns into
numbers: 16 M samples a second and core, where decoding JSON gives 1.5 M (docs/adr/0015). What that does not
fit goes the long way, with the same result.
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


def read(body: bytes | bytearray) -> Answer:
    """The answer in a response's body. Raises NoAnswer."""
    text = bytes(body)
    found = _fast(text)
    answer = found if found is not None else _slow(text)
    rises = np.diff(answer.at_ms) > 0
    rises[answer.starts[(answer.starts > 0) & (answer.starts < answer.samples)] - 1] = True
    if not rises.all():
        raise NoAnswer("its timestamps do not rise")
    return answer


def labels_of(head: bytes) -> dict[str, str]:
    """The labels of a series' head. Raises NoAnswer."""
    try:
        labels: object = orjson.loads(head)
    except orjson.JSONDecodeError as error:
        raise NoAnswer(f"a series' labels are no JSON: {error}") from error
    if not isinstance(labels, dict):
        raise NoAnswer("a series' labels are no object")
    return {str(key): str(value) for key, value in cast(dict[object, object], labels).items()}


def _fast(text: bytes) -> Answer | None:
    """The answer as servers write it; None where the text is not laid out so."""
    first, last = text.find(_FIRST), text.rfind(_LAST)
    if first < 0 or last < first:
        return None
    envelope = _envelope(text[:first] + text[last + len(_LAST) :])
    if envelope is None or envelope.get("resultType") != "matrix" or envelope.get("result") != []:
        return None
    heads: list[bytes] = []
    texts: list[bytes] = []
    for piece in text[first + len(_FIRST) : last].split(_BETWEEN):
        head, found, samples = piece.partition(_VALUES)
        if not found:
            return None
        heads.append(head)
        texts.append(samples)
    counts = [samples.count(b"],[") + 1 for samples in texts]
    numbers = _numbers((b'"],['.join(texts) + b'"]').translate(_TABLE, b",["), sum(counts))
    if numbers is None:
        return None
    at_ms, values = numbers
    return Answer(tuple(heads), _starts(counts), at_ms, values, envelope["warnings"])


def _numbers(table: bytes, count: int) -> tuple[Instants, Floats] | None:
    """The two columns of a table of `count` lines; None where it is none."""
    if b"\r" in table:
        return None
    try:
        columns = pl.read_csv(
            table,
            has_header=False,
            schema={"column_1": pl.Float64, "column_2": pl.Float64, "column_3": pl.String},
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


def _slow(text: bytes) -> Answer:
    """The answer, however its JSON is laid out."""
    envelope = _envelope(text)
    if envelope is None:
        raise NoAnswer(f"it is no answer of a Prometheus, but {' '.join(_shown(text).split())!r}")
    result: object = envelope.get("result")
    if envelope.get("resultType") != "matrix" or not isinstance(result, list):
        raise NoAnswer(f"it is a {envelope.get('resultType')!r}, no range of samples")
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
    return Answer(
        tuple(heads), _starts(counts), _milliseconds(table[:, 0]), table[:, 1], envelope["warnings"]
    )


def _shown(text: bytes) -> str:
    return text[:80].decode("utf-8", "replace")
