"""Watching one resource: a full list, then what changes, for ever; what broke and what was missed as values."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

import orjson

from collector.kubernetes import talk
from collector.kubernetes.resources import Resource
from collector.kubernetes.stream import ADDED, BEGIN, BOOKMARK, SYNCED, Event
from collector.kubernetes.talk import Answer, Api, Trouble
from collector.kubernetes.values import Json, instant_ms, mapping, objects, text

# A bookmark comes about once a minute: who is silent for so long is asked again.
SILENCE_S = 150.0
_PAGE = "500"
_WATCH_S = (240, 300)
_PAUSES_S = (0.2, 30.0)
# What may not be read, or is not installed, is tried again so often.
_LATER_S = 300.0
_SOON_S = 1.0
_CHUNK = 64 * 1024
# Lines are understood together, so that a lock is not taken for each.
_TOGETHER = 200
_LONGEST_LINE = 64 * 1024 * 1024
# Its own: a thread that goes on in the background leaves everybody else's random numbers alone.
_dice = random.Random()  # noqa: S311

Deliver = Callable[[list[Event]], None]


@dataclass
class State:
    """How one watch stands. Written by its thread, read by others."""

    synced_at: int | None = None  # the last full list
    heard_at: int | None = None  # all before was told
    trouble: Trouble | None = None
    relists: list[tuple[int, int]] = field(
        default_factory=list[tuple[int, int]]
    )  # spans in which changes were missed
    connects: int = 0
    events: int = 0
    lag_ms: int = (
        0  # the largest since it was last read: a change's receipt − its time, which is floored to seconds
    )

    @property
    def settled(self) -> bool:
        """Whether it is known what it has to say: a full list, or that there is none to be had."""
        gone = self.trouble is not None and self.trouble.kind in {talk.FORBIDDEN, talk.ABSENT}
        return self.synced_at is not None or gone


class Watcher:
    """One resource's thread; `metadata_only` leaves specs and states of objects out."""

    def __init__(
        self,
        api: Api,
        resource: Resource,
        deliver: Deliver,
        wall: Callable[[], int],
        *,
        metadata_only: bool = False,
    ) -> None:
        self.resource = resource
        self.state = State()
        self._api, self._deliver, self._wall = api, deliver, wall
        self._accept = (talk.METADATA, talk.METADATA_LIST) if metadata_only else (talk.JSON, talk.JSON)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._stream: Answer | None = None  # the one under way, for who stops it
        self._version = resource.versions[0]
        self._at = ""  # the resourceVersion to go on from
        self._watch_list = True
        self._lost_ms: int | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch-{resource.kind}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End now: a stream under way is cut, which would go on for up to five minutes where nothing happens."""
        self._stop.set()
        ended = (RuntimeError, ValueError, OSError)  # what is cut just when it ends by itself
        with self._lock, contextlib.suppress(*ended):
            if self._stream is not None:
                self._stream.shutdown()

    def _run(self) -> None:
        pause_s = _PAUSES_S[0]
        while not self._stop.is_set():
            began, before = time.monotonic(), self.state.events
            try:
                if self._at:
                    self._go_on()
                elif self._watch_list:
                    self._list_by_watching()
                else:
                    self._list_by_pages()
            except Trouble as trouble:
                pause_s = self._after(trouble, pause_s)
                continue
            if self.state.events > before or time.monotonic() - began > _SOON_S:
                pause_s = _PAUSES_S[0]
            else:  # a stream that ends at once and says nothing: not to be asked without end
                self._stop.wait(pause_s)
                pause_s = min(2 * pause_s, _PAUSES_S[1])

    def _after(self, trouble: Trouble, pause_s: float) -> float:
        """What to do about a trouble, and how long to wait next time."""
        if trouble.kind == talk.EXPIRED and self._at:
            self._at = ""
            return pause_s
        if trouble.kind == talk.INVALID and self._watch_list and not self._at:
            self._watch_list = False  # a server before 1.32
            return pause_s
        if trouble.kind == talk.SILENT and self._at and self.resource.fields:
            return (
                pause_s  # events that are rare, and of which no bookmark comes: API servers do not cache them
            )
        self.state.trouble = trouble
        if trouble.kind == talk.ABSENT:
            versions = self.resource.versions
            following = (versions.index(self._version) + 1) % len(versions)
            self._version = versions[following]
            if following:
                return pause_s
        wait_s = pause_s * _dice.uniform(0.8, 1.2)
        if trouble.retry_after_s is not None:
            wait_s = max(wait_s, trouble.retry_after_s)
        if trouble.kind in {talk.FORBIDDEN, talk.ABSENT}:
            wait_s = _LATER_S
            self._at = ""
        self._stop.wait(wait_s)
        return min(2 * pause_s, _PAUSES_S[1])

    def _query(self, **more: str) -> dict[str, str]:
        return {**({"fieldSelector": self.resource.fields} if self.resource.fields else {}), **more}

    def _list_by_watching(self) -> None:
        query = self._query(
            watch="true",
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            timeoutSeconds=str(_dice.randint(*_WATCH_S)),
        )
        self._begin()
        self._follow(query, listing=True)

    def _go_on(self) -> None:
        query = self._query(
            watch="true",
            resourceVersion=self._at,
            allowWatchBookmarks="true",
            timeoutSeconds=str(_dice.randint(*_WATCH_S)),
        )
        self._follow(query, listing=False)

    def _list_by_pages(self) -> None:
        self._begin()
        path, token, at = self.resource.path(self._version), "", ""
        limit = {"limit": _PAGE}
        while True:
            try:
                query = self._query(**limit, **({"continue": token} if token else {}))
                page = self._api.get(path, query, accept=self._accept[1])
            except Trouble as trouble:
                if trouble.kind != talk.EXPIRED or not limit:
                    raise
                token, limit = "", {}  # the pages took too long to be one picture: all at once
                self._begin()
                continue
            now = self._wall()
            found = [self._event(now, ADDED, each) for each in objects(page.get("items"))]
            self._deliver(found)
            metadata = mapping(page.get("metadata"))
            at, token = text(metadata.get("resourceVersion")), text(metadata.get("continue"), 16_384)
            if not token:
                break
        self._synced(at)

    def _event(self, at_ms: int, how: str, raw: Json | None = None) -> Event:
        return Event(at_ms, self.resource.kind, how, raw or {}, self.resource.namespace)

    def _begin(self) -> None:
        if self._lost_ms is None:
            self._lost_ms = self.state.heard_at
        self._deliver([self._event(self._wall(), BEGIN)])

    def _synced(self, at: str) -> None:
        now = self._wall()
        self._deliver([self._event(now, SYNCED)])
        if self.state.synced_at is not None and self._lost_ms is not None:
            self.state.relists.append((self._lost_ms, now))
        self._lost_ms = None
        self._at = at
        self.state.synced_at = self.state.heard_at = now
        self.state.trouble = None

    def _follow(self, query: dict[str, str], *, listing: bool) -> None:
        """Read a stream until it ends. Raises Trouble, also for an error that comes within it."""
        path = self.resource.path(self._version)
        with self._open(path, query) as answer:
            self.state.connects += 1
            if self._stop.is_set():
                return
            pending: list[Event] = []
            for lines in lines_of(answer):
                if self._stop.is_set():
                    return
                now = self._wall()
                for line in lines:
                    listing = self._line(line, now, pending, listing=listing)
                    if len(pending) >= _TOGETHER:
                        self._deliver(pending)
                        pending = []
                if pending:
                    self._deliver(pending)
                    pending = []
                if not listing:
                    self.state.heard_at = now
                    self.state.trouble = None

    @contextlib.contextmanager
    def _open(self, path: str, query: dict[str, str]) -> Generator[Answer]:
        with self._api.open(path, query, accept=self._accept[0], read_s=SILENCE_S) as answer:
            with self._lock:
                self._stream = answer
            try:
                yield answer
            finally:
                with self._lock:
                    self._stream = None

    def _line(self, line: bytes, now: int, pending: list[Event], *, listing: bool) -> bool:
        """Take one line; whether the initial list still goes on."""
        try:
            told = mapping(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise Trouble(talk.AWAY, f"a line of the watch is no JSON: {error}") from error
        how, raw = text(told.get("type")), mapping(told.get("object"))
        if how == "ERROR":
            kind = talk.EXPIRED if raw.get("code") == 410 else talk.AWAY
            raise Trouble(kind, f"{raw.get('code')}: {text(raw.get('message'), 300)}")
        metadata = mapping(raw.get("metadata"))
        at = text(metadata.get("resourceVersion"))
        if how == BOOKMARK and listing and _ends_list(metadata):
            if pending:
                self._deliver(list(pending))
                pending.clear()
            self._synced(at)
            return False
        if not listing and at:
            self._at = at
            self.state.lag_ms = max(self.state.lag_ms, now - (_written(metadata) or now))
        self.state.events += 1
        pending.append(self._event(now, how, raw if how != BOOKMARK else None))
        return listing


def _written(metadata: Json) -> int | None:
    """When somebody last wrote the object; all these times are of one form, so that the greatest text is the last."""
    return instant_ms(
        max((text(each.get("time")) for each in objects(metadata.get("managedFields"))), default="")
    )


def _ends_list(metadata: Json) -> bool:
    return mapping(metadata.get("annotations")).get("k8s.io/initial-events-end") == "true"


def lines_of(answer: Answer) -> Iterator[list[bytes]]:
    """The whole lines of a stream, those together that came together. Raises Trouble for one without end."""
    rest = b""
    for chunk in answer.stream(_CHUNK, True):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise Trouble(talk.AWAY, "a line of the watch has no end")
        yield [line for line in whole if line.strip()]
