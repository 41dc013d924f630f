"""Tokens that open the remote door: a random word each, of which the ledger keeps the SHA-256 alone."""

import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import polars as pl

from quartermaster.config.problem import nearest
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from sql.ledger import Ledger

_ALL = (Path(__file__).parent / "queries" / "door" / "tokens.sql").read_text(encoding="utf-8")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_PREFIX = "qm_"
_WORD_BYTES = 32


@dataclass(frozen=True)
class Token:
    """A token: what it is called, whose rows it shows (None: all), from when until when it opens, in epoch ms."""

    token_id: int
    name: str
    hash: str
    teams: tuple[str, ...] | None
    per_minute: int
    author: str
    start_ms: int
    end_ms: int
    revision: int

    def is_open(self, now_ms: int) -> bool:
        """Whether it opens the door at the instant."""
        return self.start_ms <= now_ms < self.end_ms


def fingerprint(word: str) -> str:
    """What the ledger keeps of a token's word. It is random and long: a plain hash cannot be tried out."""
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()


def tokens(ledger: Ledger) -> list[Token]:
    """Every token that was ever made, by name and beginning."""
    return [
        Token(
            token_id=row["token_id"],
            name=row["name"],
            hash=row["hash"],
            teams=None if row["teams"] is None else tuple(cast(list[str], json.loads(row["teams"]))),
            per_minute=row["per_minute"],
            author=row["author"],
            start_ms=row["start_ms"],
            end_ms=row["end_ms"],
            revision=row["revision"],
        )
        for row in ledger.query(_ALL).iter_rows(named=True)
    ]


def create(
    ledger: Ledger,
    name: str,
    *,
    teams: Sequence[str] | None,
    per_minute: int,
    author: str,
    now_ms: int,
    end_ms: int,
) -> tuple[Token, str]:
    """A new token and its word, which is told this once. Raises InputError for a name that is taken or is none."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no token's name", "use letters, digits and . _ -, at most 63")
    if teams is not None and not teams:
        raise InputError("a token for no team shows nothing", "name teams, or say that it is for all")
    if end_ms <= now_ms:
        raise InputError("the token would be over before it begins", "give it an end that is to come")
    if any(each.name == name and each.is_open(now_ms) for each in tokens(ledger)):
        raise InputError(f"there is a token {name!r} already", "rotate or revoke it, or take another name")
    word = _PREFIX + secrets.token_urlsafe(_WORD_BYTES)
    made = Token(
        token_id=content_id("token", name, now_ms),
        name=name,
        hash=fingerprint(word),
        teams=None if teams is None else tuple(teams),
        per_minute=per_minute,
        author=author,
        start_ms=now_ms,
        end_ms=end_ms,
        revision=0,
    )
    _write(ledger, [made], now_ms)
    return made, word


def revoke(ledger: Ledger, name: str, *, author: str, now_ms: int) -> Token:
    """End the token of that name now; a server knows it some seconds later. Raises InputError where none is open."""
    ended = _ended(_open(ledger, name, now_ms), now_ms, author)
    _write(ledger, [ended], now_ms)
    return ended


def rotate(
    ledger: Ledger, name: str, *, author: str, now_ms: int, grace_ms: int, end_ms: int
) -> tuple[Token, str]:
    """A new word for the token of that name; the old one opens for `grace_ms` more. Raises InputError as above."""
    old = _open(ledger, name, now_ms)
    word = _PREFIX + secrets.token_urlsafe(_WORD_BYTES)
    made = Token(
        token_id=content_id("token", name, now_ms),
        name=name,
        hash=fingerprint(word),
        teams=old.teams,
        per_minute=old.per_minute,
        author=author,
        start_ms=now_ms,
        end_ms=end_ms,
        revision=0,
    )
    _write(ledger, [made, _ended(old, min(old.end_ms, now_ms + grace_ms), author)], now_ms)
    return made, word


def _open(ledger: Ledger, name: str, now_ms: int) -> Token:
    known = [each for each in tokens(ledger) if each.is_open(now_ms)]
    found = [each for each in known if each.name == name]
    if not found:
        guess = nearest(name, [each.name for each in known])
        hint = f"did you mean {guess}?" if guess else "quartermaster token list names them"
        raise InputError(f"there is no open token {name!r}", hint)
    return max(found, key=lambda each: each.start_ms)


def _ended(token: Token, end_ms: int, author: str) -> Token:
    return replace(token, end_ms=max(end_ms, token.start_ms), author=author, revision=token.revision + 1)


def _write(ledger: Ledger, rows: Sequence[Token], now_ms: int) -> None:
    frame = pl.DataFrame(
        [
            {
                "token_id": each.token_id,
                "start_at": each.start_ms,
                "end_at": each.end_ms,
                "name": each.name,
                "hash": each.hash,
                "teams": None if each.teams is None else json.dumps(each.teams),
                "per_minute": each.per_minute,
                "author": each.author,
                "revision": each.revision,
            }
            for each in rows
        ],
        schema_overrides={"teams": pl.String},
    )
    key = f"token-{rows[0].token_id}/{rows[0].revision}/{now_ms}"
    ledger.append(key, {"tokens_versions": frame}, recorded_at=now_ms)
