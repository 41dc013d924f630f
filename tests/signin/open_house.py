"""A server with every door open, as Streamlit's are: what the guard stands in front of in fast tests."""

import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from quartermaster.clock import HOUR_MS

COOKIE_SECRET = "c" * 48
FILE = "ab" * 28
NOW = 1_795_000_000_000
ALICE = {"email": "alice@example.org", "name": "Alice", "groups": ["vision"], "exp": (NOW + HOUR_MS) // 1000}


class OpenHouse:
    """`claims`: whom the provider sends back, None: nobody. `heard`: the headers of each request."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] | None = dict(ALICE)
        self.heard: list[dict[str, str]] = []
        self.streams: list[str] = []
        self.app = Starlette(
            routes=[
                Route("/oauth2callback", self._callback),
                Route("/auth/logout", self._logout),
                Route("/away", self._away),
                WebSocketRoute("/_stcore/stream", self._stream),
                Route("/{path:path}", self._anything, methods=["GET", "HEAD", "POST", "PUT", "DELETE"]),
            ]
        )

    async def _anything(self, request: Request) -> Response:
        self.heard.append(dict(request.headers))
        response = JSONResponse(
            {"path": request.url.path}, headers={"server": "open", "x-frame-options": "ALLOW"}
        )
        response.set_cookie("_streamlit_xsrf", "x")
        return response

    async def _callback(self, request: Request) -> Response:
        self.heard.append(dict(request.headers))
        response = RedirectResponse("/", 302)
        if self.claims is not None:
            signed = create_signed_value(COOKIE_SECRET, "_streamlit_user", json.dumps(self.claims))
            response.set_cookie("_streamlit_user", signed.decode(), max_age=30 * 86_400)
            response.set_cookie("_streamlit_user_tokens", "t", max_age=30 * 86_400)
        return response

    async def _logout(self, request: Request) -> Response:
        self.heard.append(dict(request.headers))
        response = RedirectResponse("https://id.example.org/end", 302)
        response.delete_cookie("_streamlit_user")
        return response

    async def _away(self, _: Request) -> Response:
        return RedirectResponse("//evil.example/x", 301)

    async def _stream(self, socket: WebSocket) -> None:
        self.heard.append(dict(socket.headers))
        await socket.accept(subprotocol="streamlit")
        try:
            while True:
                said = await socket.receive_bytes()
                await socket.send_bytes(
                    b"\x0a/media/" + FILE.encode() + b".csv2" if said == b"file" else said
                )
        except WebSocketDisconnect:
            self.streams.append("closed")
