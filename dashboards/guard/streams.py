"""A stream between a browser and a page, which ends with the session that opened it. Pure ASGI."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboards.guard.doors import offered
from dashboards.guard.sessions import Session

REFUSED = 1008  # RFC 6455: policy violation


async def refuse(receive: Receive, send: Send) -> None:
    """Close before anything was opened: the browser gets 403."""
    await receive()
    await send({"type": "websocket.close", "code": REFUSED})


async def carry(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    session: Session,
    now_ms: Callable[[], int],
) -> None:
    """Carry messages until one side ends it, or the session is over. What it offers for download is noted."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    timer = loop.call_later(max(0.0, (session.end_ms - now_ms()) / 1000), over.set)
    session.closers.add(over.set)

    async def hear() -> Message:
        if over.is_set():
            return {"type": "websocket.disconnect", "code": REFUSED}
        heard: asyncio.Future[Any] = asyncio.ensure_future(receive())
        ended: asyncio.Future[Any] = asyncio.ensure_future(over.wait())
        try:
            await asyncio.wait({heard, ended}, return_when=asyncio.FIRST_COMPLETED)
            if over.is_set():
                with contextlib.suppress(RuntimeError, OSError):  # it may be closed already
                    await send({"type": "websocket.close", "code": REFUSED})
                return {"type": "websocket.disconnect", "code": REFUSED}
            return heard.result()
        finally:
            heard.cancel()
            ended.cancel()

    async def say(message: Message) -> None:
        if over.is_set():
            return  # nothing more is shown to who is signed out
        if message["type"] == "websocket.send":
            for file in offered(message.get("bytes") or b""):
                session.offer(file)
        await send(message)

    try:
        await app(scope, hear, say)
    finally:
        timer.cancel()
        session.closers.discard(over.set)
