"""Whom the remote door lets in: the tokens as they were some seconds ago, and how often each may ask."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sql.tokens import Token, fingerprint

FRESH_S = 5.0  # a token that was revoked opens for no longer than this


@dataclass(frozen=True)
class TooOften:
    """The token has asked all it may; in so many seconds it may ask again."""

    after_s: float


@dataclass
class _Bucket:
    left: float
    filled_s: float
    asking: int = 0


class Keyring:
    """Tokens by the hash of their word. Threads may share it; the clocks are arguments."""

    def __init__(self, read: Callable[[], Iterable[Token]], at_once: int) -> None:
        self._read = read
        self._at_once = at_once
        self._known: dict[str, Token] = {}
        self._buckets: dict[int, _Bucket] = {}
        self._read_s: float | None = None
        self._lock = threading.Lock()

    def find(self, word: str, now_ms: int, steady_s: float) -> Token | None:
        """The token that the word opens with now; None: it opens nothing. Raises LedgerError where none can be read."""
        if self._read_s is None or steady_s - self._read_s > FRESH_S:
            self.refresh(steady_s)
        token = self._known.get(fingerprint(word))
        return token if token is not None and token.is_open(now_ms) else None

    def refresh(self, steady_s: float) -> None:
        """Read the tokens, so that nobody who asks has to wait for it. Raises LedgerError."""
        self._known = {each.hash: each for each in self._read()}
        self._read_s = steady_s

    def begin(self, token: Token, steady_s: float) -> TooOften | None:
        """Count a question of the token's, which `end` must follow; or say that it asks too often or too much."""
        with self._lock:
            bucket = self._buckets.setdefault(token.token_id, _Bucket(token.per_minute, steady_s))
            a_second = token.per_minute / 60
            filled = bucket.left + (steady_s - bucket.filled_s) * a_second
            bucket.left, bucket.filled_s = min(float(token.per_minute), filled), steady_s
            if bucket.left < 1:
                return TooOften((1 - bucket.left) / a_second)
            if bucket.asking >= self._at_once:
                return TooOften(1.0)
            bucket.left -= 1
            bucket.asking += 1
            return None

    def end(self, token: Token) -> None:
        """The question has its answer."""
        with self._lock:
            self._buckets[token.token_id].asking -= 1
