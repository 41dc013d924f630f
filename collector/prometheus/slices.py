"""Slices: a hole's telemetry read span by span, the next ones fetched while the last one is committed."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Queue
from threading import Thread

from collector.dcgm.metrics import NUMBER_BY_NAME
from collector.prometheus.answer import Answer
from collector.prometheus.chunks import CHUNK_SAMPLES, Chunk, pieces, selector, slice_end
from collector.prometheus.connection import Connection
from collector.prometheus.refusal import Partial, TooMuch
from collector.prometheus.understand import MARGIN_MS
from quartermaster.errors import SourceError

METRICS = tuple(sorted(NUMBER_BY_NAME))


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """The answers about a span, which begin a little before it; `partial` is what the server says is missing."""

    from_ms: int
    until_ms: int
    answers: list[Answer]
    questions: int
    partial: str = ""

    @property
    def samples(self) -> int:
        """How many samples it has."""
        return sum(answer.samples for answer in self.answers)

    def taken(self) -> Iterator[Answer]:
        """The answers, each once: who is done with them has them out of memory, and not when the next slice comes."""
        while self.answers:
            yield self.answers.pop(0)


class Reader:
    """Reads a cluster's telemetry from a Prometheus in slices.

    Two are asked for at a time, each over a connection of its own: a server that has answered one question works
    at the next one, while the answer is understood.
    """

    def __init__(self, connection: Connection, match: str, per_ms: float) -> None:
        """`per_ms` are the samples a millisecond that are to be expected."""
        self._free = deque((connection, connection.second))
        self._asked: deque[tuple[Connection, Queue[Slice | BaseException]]] = deque()
        self._match = match
        self._most = CHUNK_SAMPLES
        self._per_ms = per_ms

    def slices(self, from_ms: int, until_ms: int) -> Iterator[Slice]:
        """The slices of a hole in order. Raises SourceError."""
        at_ms = self._ahead(from_ms, until_ms)
        while self._asked:
            connection, waiting = self._asked.popleft()
            found = waiting.get()
            if isinstance(found, BaseException):
                raise found
            self._learn(found)
            self._free.append(connection)
            at_ms = self._ahead(at_ms, until_ms)
            yield found

    def _ahead(self, at_ms: int, until_ms: int) -> int:
        """Ask for the next slices over the connections that are free; where the one after them begins."""
        while self._free and at_ms < until_ms:
            connection, span = self._free.popleft(), (at_ms, slice_end(at_ms, until_ms, self._per_ms))
            self._asked.append((connection, self._fetched(connection, *span)))
            at_ms = span[1]
        return at_ms

    def _fetched(self, connection: Connection, from_ms: int, until_ms: int) -> "Queue[Slice | BaseException]":
        """Fetch a slice in a thread, which nobody waits for who leaves early."""
        answer: Queue[Slice | BaseException] = Queue(1)

        def fetch() -> None:
            try:
                answer.put(self._slice(connection, from_ms, until_ms))
            except BaseException as error:  # noqa: BLE001  raised where it is waited for
                answer.put(error)

        Thread(target=fetch, name="prometheus", daemon=True).start()
        return answer

    def _learn(self, found: Slice) -> None:
        if not found.partial:
            now = found.samples / (found.until_ms - found.from_ms + MARGIN_MS)
            # More at once, and half as fast back to less: what comes next may be as dense as what was.
            self._per_ms = max(now, (self._per_ms + now) / 2)

    def _slice(self, connection: Connection, from_ms: int, until_ms: int) -> Slice:
        span = (from_ms - MARGIN_MS, until_ms)
        answers: list[Answer] = []
        asked = 0
        try:
            instances = connection.label_values("instance", selector(METRICS, self._match), *span)
            expected = int(self._per_ms * (span[1] - span[0]))
            whole = Chunk(METRICS, self._match, *span)
            left = pieces(whole, sorted(instances), expected, self._most)[::-1]
            while left:
                chunk = left.pop()
                asked += 1
                try:
                    answers.append(connection.range(*chunk.query()))
                except TooMuch as error:
                    left += self._less(connection.url, chunk, error)
        except Partial as partial:
            return Slice(from_ms, until_ms, [], asked, str(partial))
        return Slice(from_ms, until_ms, answers, asked)

    def _less(self, url: str, chunk: Chunk, error: TooMuch) -> list[Chunk]:
        """Two smaller questions instead of one that was too much; and from now on smaller ones at once."""
        halves = chunk.halves()
        if halves is None:
            raise SourceError(
                f"{url}: it does not answer even for half a minute of one instance: {error}",
                "raise the server's limits (--query.max-samples, --query.timeout), or ask it when it is less busy",
            ) from error
        self._most = max(1_000, self._most // 2)
        return list(halves[::-1])
