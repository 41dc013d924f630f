"""The remote door: HTTP in front of warm rooms. Who asks is told by a bearer token; what is answered by the room.

GET  /v1/questions                 the questions that have a name, with their parameters
GET  /v1/questions/<name>?from=…   the answer to one of them
POST /v1/sql                       {"query": …, "parameters": {…}, "format": "json" | "csv" | "arrow"}
GET  /v1/tables                    what the token may ask, column by column
GET  /healthz                      whether the server is there; needs no token
"""

import contextlib
import json
import math
import threading
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartermaster.clock import now_ms, steady_s
from quartermaster.errors import InputError, LedgerError
from sql.asked import Asked, Journal
from sql.described import described
from sql.door import Limits, request, understood
from sql.keyring import Keyring
from sql.questions import Question, questions
from sql.room import HIDDEN
from sql.rooms import Rooms
from sql.scope import SCOPED
from sql.tokens import Token
from sql.wishes import KINDS, RefusedError, Wish, body_of, named_wish, wish_in_words

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


@dataclass(frozen=True)
class Gate:
    """What the server stands on: `place` is the ledger's folder and catalog, `waiting` how many may queue."""

    place: tuple[Path, str]
    rooms: Rooms
    keyring: Keyring
    journal: Journal
    limits: Limits
    at_once: int
    waiting: int


def application(gate: Gate, opened: Callable[[], None], closed: Callable[[], None]) -> Starlette:
    """The ASGI application; `opened` and `closed` are called as the server begins and after its last answer."""
    line = _Line(gate)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncGenerator[None]:
        opened()
        try:
            yield
        finally:
            await run_in_threadpool(closed)

    async def health(_: Request) -> Response:
        return JSONResponse({"ok": True}, headers=_HEADERS)

    async def named(asked: Request) -> Response:
        return await line.answer(asked, named_wish)

    async def sql(asked: Request) -> Response:
        return await line.answer(asked, wish_in_words)

    async def listed(asked: Request) -> Response:
        return await line.tell(asked, lambda _: [_shown(each) for each in questions()])

    async def tables(asked: Request) -> Response:
        return await line.tell(asked, _tables)

    async def lost(asked: Request, _: Exception) -> Response:
        return _error(
            RefusedError(
                404,
                f"there is nothing at {asked.url.path[:200]}",
                "see /v1/questions, /v1/tables and /v1/sql",
            )
        )

    async def wrong_way(asked: Request, _: Exception) -> Response:
        return _error(
            RefusedError(405, f"{asked.method} is not answered here", "POST to /v1/sql, GET the others")
        )

    async def broken(_: Request, __: Exception) -> Response:
        return _error(RefusedError(500, "something went wrong", "tell whoever runs the server"))

    routes = [
        Route("/healthz", health),
        Route("/v1/questions", listed),
        Route("/v1/questions/{name}", named),
        Route("/v1/tables", tables),
        Route("/v1/sql", sql, methods=["POST"]),
    ]
    handlers = {404: lost, 405: wrong_way, 500: broken}
    return Starlette(routes=routes, lifespan=life, exception_handlers=cast(Any, handlers))


class _Line:
    """Those who ask, in order of arrival: so many at once, so many who wait, no more."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._inside = 0
        self._lock = threading.Lock()
        self._seats: anyio.CapacityLimiter | None = None

    async def tell(self, asked: Request, what: Callable[[Token], object]) -> Response:
        """The answer to what needs a token, and no room."""
        try:
            token = await run_in_threadpool(self._let_in, asked)
            return JSONResponse(what(token), headers=_HEADERS)
        except RefusedError as refusal:
            return _error(refusal)

    async def answer(self, asked: Request, read: Callable[[Request, bytes], Wish]) -> Response:
        """The answer to a question."""
        try:
            token = await run_in_threadpool(self._let_in, asked)
            body = await body_of(asked)
            self._take_place()
            try:
                self._count(token)
                try:
                    return await self._room(token, asked, body, read)
                finally:
                    self._gate.keyring.end(token)
            finally:
                with self._lock:
                    self._inside -= 1
        except RefusedError as refusal:
            return _error(refusal)

    async def _room(
        self, token: Token, asked: Request, body: bytes, read: Callable[[Request, bytes], Wish]
    ) -> Response:
        if self._seats is None:
            self._seats = anyio.CapacityLimiter(self._gate.at_once)
        try:
            wish = read(asked, body)
        except InputError as error:
            raise RefusedError(400, error.what, error.hint) from error
        return await anyio.to_thread.run_sync(self._ask, token, wish, limiter=self._seats)

    def _let_in(self, asked: Request) -> Token:
        scheme, _, word = asked.headers.get("authorization", "").partition(" ")
        try:
            token = (
                self._gate.keyring.find(word.strip(), now_ms(), steady_s())
                if scheme.lower() == "bearer" and word
                else None
            )
        except LedgerError as error:
            raise _closed() from error
        if token is None:
            raise RefusedError(
                401,
                "no token, or none that opens",
                "send Authorization: Bearer <token>; quartermaster token makes one",
            )
        return token

    def _take_place(self) -> None:
        with self._lock:
            if self._inside >= self._gate.at_once + self._gate.waiting:
                raise RefusedError(503, "too many questions at once", "ask again in a moment", 1.0)
            self._inside += 1

    def _count(self, token: Token) -> None:
        late = self._gate.keyring.begin(token, steady_s())
        if late is not None:
            raise RefusedError(
                429,
                f"the token {token.name} asks too often",
                f"at most {token.per_minute} a minute",
                late.after_s,
            )

    def _ask(self, token: Token, wish: Wish) -> Response:
        gate, began, at = self._gate, time.monotonic(), now_ms()
        killed = False
        head: dict[str, Any] = {}
        body, refusal = b"", None
        outcome = "answered"
        words = ""
        try:
            told = request(
                *gate.place, wish.query, gate.limits, parameters=wish.bound, teams=token.teams, form=wish.form
            )
            out, killed = gate.rooms.answer(told, gate.limits)
            head, body = understood(out, gate.limits, killed=killed)
        except InputError as error:
            outcome, words = "stopped" if killed else "refused", error.what
            refusal = RefusedError(400, error.what, error.hint)
        except LedgerError as error:
            outcome, words, refusal = "failed", error.what, _closed()
        took_ms = round((time.monotonic() - began) * 1000)
        asked = Asked(
            asked_at=at,
            token_id=token.token_id,
            token=token.name,
            question=wish.question,
            query=wish.query,
            parameters=json.dumps(dict(wish.given)),
            form=wish.form,
            outcome=outcome,
            rows=head.get("rows", 0),
            took_ms=took_ms,
            words=words,
        )
        try:
            gate.journal.note(asked)
        except LedgerError as error:
            return _error(RefusedError(503, error.what, error.hint))
        if refusal is not None:
            return _error(refusal)
        headers = _HEADERS | {"x-rows": str(head["rows"]), "x-more": json.dumps(head["more"])}
        return Response(body, media_type=KINDS[wish.form], headers=headers)


def _shown(found: Question) -> dict[str, object]:
    parameters = [
        {"name": p.name, "type": p.type, "required": p.required, "default": p.default, "about": p.about}
        for p in found.parameters
    ]
    return {"name": found.name, "about": found.about, "parameters": parameters}


def _tables(token: Token) -> object:
    known = described()
    mine = [name for name in known if name not in HIDDEN and (token.teams is None or name in SCOPED)]
    return [
        {
            "name": name,
            "about": known[name].grain,
            "columns": [{"name": c.name, "type": c.type, "about": c.comment} for c in known[name].columns],
        }
        for name in sorted(mine)
    ]


def _closed() -> RefusedError:
    return RefusedError(
        503, "the ledger cannot be read now", "try again, or tell whoever runs the server", 5.0
    )


def _error(refusal: RefusedError) -> Response:
    headers = dict(_HEADERS)
    if refusal.after_s is not None:
        headers["retry-after"] = str(max(1, math.ceil(refusal.after_s)))
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(
        {"error": refusal.what, "hint": refusal.hint}, status_code=refusal.status, headers=headers
    )
