"""Chunks: questions small enough for a server, in time and series; pure."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS

# No question is about less; a server that refuses this one answers none.
_SHORTEST_MS = 30 * SECOND_MS
# What is read, understood and committed at once: so many samples, within these bounds of time.
SLICE_SAMPLES = 3_600_000
_SLICE_MS = (5 * MINUTE_MS, 12 * HOUR_MS)
# What is asked for at once, of which a server needs some twenty bytes of JSON each.
CHUNK_SAMPLES = 1_200_000
# Longer lists of instances make no faster question, but may make one too long to send.
_INSTANCES_LISTED = 500


@dataclass(frozen=True, slots=True)
class Chunk:
    """The samples of [from, until) of the metrics of some instances; None: of whatever there is."""

    metrics: tuple[str, ...]
    match: str
    from_ms: int
    until_ms: int
    instances: tuple[str, ...] | None = None

    def query(self) -> tuple[str, int]:
        """The range selector, and the instant as of which it is to be asked."""
        return range_of(self.selector(), self.from_ms, self.until_ms)

    def selector(self) -> str:
        """The instant selector of the series."""
        instances = f",instance=~{_alternatives(self.instances)}" if self.instances is not None else ""
        return selector(self.metrics, self.match, instances)

    def halves(self) -> tuple["Chunk", "Chunk"] | None:
        """Two chunks that together ask for the same: half of the instances each, else half of the time."""
        if self.instances is not None and len(self.instances) > 1:
            middle = len(self.instances) // 2
            return replace(self, instances=self.instances[:middle]), replace(
                self, instances=self.instances[middle:]
            )
        middle_ms = self.from_ms + (self.until_ms - self.from_ms) // 2
        if middle_ms - self.from_ms < _SHORTEST_MS:
            return None
        return replace(self, until_ms=middle_ms), replace(self, from_ms=middle_ms)


def range_of(chosen: str, from_ms: int, until_ms: int) -> tuple[str, int]:
    """A selector's samples of [from, until): the range selector, and the instant as of which it is to be asked.

    2.x gives both ends of a range and 3.x leaves out its beginning. So this one ends a millisecond before
    `until`, and what lies before `from` is to be passed over.
    """
    return f"{chosen}[{until_ms - from_ms}ms]", until_ms - 1


def selector(metrics: Sequence[str], match: str, more: str = "") -> str:
    """The selector of some metrics' series; `match` and `more` are further matchers, each with its comma."""
    return f"{{__name__=~{_alternatives(metrics)}{match}{more}}}"


def matchers(match: Mapping[str, str]) -> str:
    """Labels that series must have, as matchers with a comma before each."""
    return "".join(f",{name}={_quoted(text)}" for name, text in sorted(match.items()))


def pieces(whole: Chunk, instances: Sequence[str], samples: int, most: int) -> list[Chunk]:
    """A chunk in which `samples` are expected, as chunks of `most` or fewer if they are spread evenly.

    Series without an instance come with the first.
    """
    count = _ceil(samples, most)
    if count <= 1 and len(instances) <= _INSTANCES_LISTED:
        return [whole]
    if len(instances) > 1:
        most_listed = min(max(1, len(instances) // count), _INSTANCES_LISTED)
        size = _ceil(len(instances), _ceil(len(instances), most_listed))  # as even as can be, no small rest
        theirs = [tuple(instances[first : first + size]) for first in range(0, len(instances), size)]
        theirs[0] = ("", *theirs[0])
        return [replace(whole, instances=some) for some in theirs]
    span_ms = whole.until_ms - whole.from_ms
    count = max(1, min(count, span_ms // _SHORTEST_MS))
    edges = [whole.from_ms + span_ms * number // count for number in range(count + 1)]
    return [replace(whole, from_ms=start, until_ms=end) for start, end in itertools.pairwise(edges)]


def slice_end(from_ms: int, until_ms: int, samples_per_ms: float) -> int:
    """Where a slice that begins at `from_ms` ends: at a full minute, with about as many samples as one may have."""
    shortest_ms, longest_ms = _SLICE_MS
    wanted_ms = SLICE_SAMPLES / samples_per_ms if samples_per_ms > 0 else longest_ms
    length_ms = int(min(max(wanted_ms, shortest_ms), longest_ms))
    end_ms = (from_ms + length_ms) // MINUTE_MS * MINUTE_MS
    return min(until_ms, end_ms if end_ms > from_ms else from_ms + length_ms)


def _ceil(number: int, by: int) -> int:
    return -(-number // by)


def _alternatives(texts: Sequence[str] | None) -> str:
    """A pattern for one of these texts, as RE2 and PromQL's quoting have it."""
    return _quoted(
        "|".join(re.sub(r"([^A-Za-z0-9_:/\x80-\U0010ffff-])", r"\\\1", text) for text in texts or ())
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
