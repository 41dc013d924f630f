"""Who is signed in: a table in memory, so that a word that was signed out, or is too old, opens nothing any more.

A browser holds one random word in a cookie, of which the table has the SHA-256 alone. Threads may share it: the guard
writes on its event loop, the pages' scripts read in theirs.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dashboards.granted import Identity

_MOST_STRANGERS = 10_000  # browsers that are not signed in; the oldest is forgotten
_MOST_KNOWN = 10_000  # sessions of people
_MOST_SOCKETS = 20  # tabs of one session
_MOST_FILES = 2_000  # downloads that were offered to one session
_STRANGER_MS = 60 * 60_000
_WORD_BYTES = 32


@dataclass(eq=False)
class Session:
    """One browser. `handle` is what the guard tells the pages' scripts; no browser ever has it."""

    handle: str
    identity: Identity | None
    end_ms: int
    wanted: str = "/"  # where it wished to go before it was asked who it is
    kept: Mapping[str, str] = field(default_factory=dict[str, str])  # Streamlit's cookies, which stay here
    files: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])
    closers: set[Callable[[], None]] = field(default_factory=set[Callable[[], None]])

    def offer(self, file: str) -> None:
        """A download was offered to this session alone, so that it may fetch it."""
        self.files[file] = None
        self.files.move_to_end(file)
        while len(self.files) > _MOST_FILES:
            self.files.popitem(last=False)

    @property
    def crowded(self) -> bool:
        """Whether it has as many connections as one browser may have."""
        return len(self.closers) >= _MOST_SOCKETS


class Sessions:
    """The table. Clocks are arguments, in epoch milliseconds."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Session] = OrderedDict()
        self._strangers: OrderedDict[str, Session] = OrderedDict()
        self._handles: dict[str, Session] = {}
        self._lock = threading.Lock()

    def find(self, word: str | None, now_ms: int) -> Session | None:
        """The session that a word opens; None where it opens nothing, any more or at all."""
        if not word:
            return None
        key = _key(word)
        with self._lock:
            found = self._known.get(key) or self._strangers.get(key)
            if found is not None and found.end_ms <= now_ms:
                self._drop(key)
                found = None
        return found

    def begin(
        self, now_ms: int, identity: Identity | None = None, end_ms: int | None = None
    ) -> tuple[Session, str]:
        """A new session and its word, which is told this once. Without an identity it is a stranger's."""
        word, handle = secrets.token_urlsafe(_WORD_BYTES), secrets.token_urlsafe(_WORD_BYTES)
        session = Session(handle, identity, now_ms + _STRANGER_MS if end_ms is None else end_ms)
        with self._lock:
            table, most = (
                (self._strangers, _MOST_STRANGERS) if identity is None else (self._known, _MOST_KNOWN)
            )
            table[_key(word)] = session
            self._handles[handle] = session
            while len(table) > most:
                self._drop(next(iter(table)))
        return session, word

    def end(self, session: Session) -> None:
        """Nothing is opened by it from now on, and what it has open is closed."""
        with self._lock:
            for table in (self._known, self._strangers):
                for key in [key for key, each in table.items() if each is session]:
                    self._drop(key)

    def holder(self, handle: str, now_ms: int) -> Session | None:
        """The session of a handle, while it lasts: what a page's script asks."""
        with self._lock:
            found = self._handles.get(handle)
            return found if found is not None and found.end_ms > now_ms else None

    def _drop(self, key: str) -> None:
        session = self._known.pop(key, None) or self._strangers.pop(key, None)
        if session is not None:
            self._handles.pop(session.handle, None)
            for close in tuple(session.closers):
                close()


def _key(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()
