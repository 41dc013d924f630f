"""The gate: what every request passes before Streamlit sees it. Pure ASGI around Streamlit's own app."""

from collections.abc import Callable, Sequence
from typing import cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboards.guard import words
from dashboards.guard.doors import Door, door_of, file_of, is_odd, leads_home
from dashboards.guard.entrance import HANDED_ON, Entrance
from dashboards.guard.headers import Header, cookies, inwards, is_of_people, outwards, security
from dashboards.guard.oidc import claims_of, identity_of, until_ms
from dashboards.guard.sessions import Session, Sessions
from dashboards.guard.streams import carry, refuse

_HEAVIEST = 32 * 1024
_METHODS = {"GET", "HEAD"}
_NOT_KEPT: Header = (b"cache-control", b"no-store")
_HTML: Header = (b"content-type", b"text/html; charset=utf-8")
_REDIRECTIONS = range(300, 400)


class Gate:
    """Streamlit behind a guard. `login` gives the address of Streamlit's own sign-in; `now_ms` the time."""

    def __init__(
        self,
        app: ASGIApp,
        entrance: Entrance,
        sessions: Sessions,
        csp: str,
        *,
        now_ms: Callable[[], int],
        login: Callable[[], str],
    ) -> None:
        self._app, self._entrance, self._sessions = app, entrance, sessions
        self._now_ms, self._login = now_ms, login
        self._security = security(csp, secure=entrance.secure)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._stream(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, query = scope["path"], scope["query_string"].decode("latin-1")
        door = door_of(path)
        if door is Door.HEALTH:  # probes know neither our name nor a cookie
            await self._pass(scope, receive, send, None)
        elif (refused := self._refusal(scope, path, query)) is not None:
            await self._say(send, refused)
        elif door in {Door.SHUT, Door.STREAM}:
            await self._say(send, words.NOTHING_HERE)
        else:
            await self._enter(scope, receive, send, door)

    def _refusal(self, scope: Scope, path: str, query: str) -> words.Notice | None:
        """What is wrong with a request before it matters who asks."""
        headers = cast(Sequence[Header], scope["headers"])
        if not self._is_ours(headers):
            return words.NOT_OUR_NAME
        if scope["method"] not in _METHODS:
            return words.NOT_TO_BE_DONE
        if is_odd(path, query):
            return words.ODD
        if _is_heavy(headers):
            return words.TOO_MUCH_SAID
        given = dict(headers)
        if given.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in given:
            return words.NOTHING_TAKEN
        return None

    def _is_ours(self, headers: Sequence[Header]) -> bool:
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        return len(hosts) == 1 and hosts[0] in self._entrance.hosts

    async def _enter(self, scope: Scope, receive: Receive, send: Send, door: Door) -> None:
        session, word = self._session(scope)
        told = [self._cookie(word, session)] if session is not None and word else []
        if self._entrance.asks and door in {Door.SIGN_IN, Door.LOGIN, Door.CALLBACK, Door.SIGN_OUT}:
            await self._ask(scope, receive, send, door, session)
        elif session is None or session.identity is None:
            await self._turn_away(scope, send, door, session)
        elif door is Door.PAGE or door is Door.PARTS:
            await self._pass(scope, receive, send, session, told, home=True)
        elif door is Door.MEDIA and file_of(scope["path"]) in session.files:
            await self._pass(scope, receive, send, session, [*told, _NOT_KEPT])
        else:
            await self._say(send, words.NOT_OFFERED)

    def _session(self, scope: Scope) -> tuple[Session | None, str]:
        """The session of a request; and its word, where it began with this one."""
        headers = cast(Sequence[Header], scope["headers"])
        now_ms = self._now_ms()
        found = self._sessions.find(cookies(headers).get(self._entrance.cookie), now_ms)
        if self._entrance.asks:
            return found, ""
        identity = self._entrance.identity(_peer(scope), headers)
        if identity is None:
            return None, ""
        if found is not None and found.identity == identity:
            return found, ""
        if found is not None:
            self._sessions.end(found)  # the proxy says that it is somebody else now
        return self._sessions.begin(now_ms, identity, now_ms + self._entrance.stays_ms())

    async def _turn_away(self, scope: Scope, send: Send, door: Door, session: Session | None) -> None:
        """Say how to come in; where somebody wished to go is remembered for then."""
        if not self._entrance.asks:
            await self._say(send, words.NOT_LET_IN)
            return
        if door is not Door.PAGE:
            await self._say(send, words.NOT_SIGNED_IN)
            return
        word = ""
        if session is None:
            session, word = self._sessions.begin(self._now_ms())
        if dict(cast(Sequence[Header], scope["headers"])).get(b"sec-fetch-dest", b"document") == b"document":
            session.wanted = _wanted(scope)  # and not what a browser fetches beside a page
        told = [self._cookie(word, session)] if word else []
        await self._say(send, words.ASK, told)

    async def _ask(
        self, scope: Scope, receive: Receive, send: Send, door: Door, session: Session | None
    ) -> None:
        """The way to the provider and back, which is Streamlit's own."""
        if door is Door.SIGN_IN:
            told = [(b"location", self._login().encode()), _NOT_KEPT]
            if session is None:
                begun, word = self._sessions.begin(self._now_ms())
                told.append(self._cookie(word, begun))
            await self._answer(send, 302, b"", told)
        elif door is Door.SIGN_OUT and session is not None and session.identity is not None:
            self._sessions.end(session)
            forget = self._cookie("", session)
            await self._pass(scope, receive, send, session, [forget, _NOT_KEPT], kept=dict(session.kept))
        elif session is None or door is Door.SIGN_OUT:
            await self._say(send, words.SIGNED_OUT)
        elif door is Door.LOGIN:
            await self._pass(scope, receive, send, None)
        else:
            await self._come_back(scope, receive, send, session)

    async def _come_back(self, scope: Scope, receive: Receive, send: Send, session: Session) -> None:
        """Back from the provider: whom Streamlit believes gets a session of their own, under a new word."""
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        await self._app(self._inner(scope, None), receive, keep)
        headers = [header for each in answer for header in cast(Sequence[Header], each.get("headers", []))]
        given = [value for name, value in headers if name == b"set-cookie" and is_of_people(value)]
        kept = cookies((b"cookie", value.partition(b";")[0]) for value in given)
        claims = claims_of(kept, self._entrance.cookie_secret)
        part, now_ms = self._entrance.part, self._now_ms()
        identity = None if claims is None or part.oidc is None else identity_of(claims, part.oidc.claims)
        end_ms = 0 if claims is None else until_ms(claims, part, now_ms)
        others = [each for each in headers if each[0] == b"set-cookie" and not is_of_people(each[1])]
        if identity is None or end_ms <= now_ms:
            asked = bool(scope["query_string"])  # a provider that signed somebody out sends them here as well
            await self._say(send, words.FAILED if asked else words.SIGNED_OUT, others)
            return
        self._sessions.end(session)
        begun, word = self._sessions.begin(now_ms, identity, end_ms)
        begun.kept = kept
        await self._answer(
            send,
            302,
            b"",
            [
                *others,
                (b"location", session.wanted.encode("latin-1", "replace")),
                _NOT_KEPT,
                self._cookie(word, begun),
            ],
        )

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = cast(Sequence[Header], scope["headers"])
        origins = [value.decode("latin-1").lower() for name, value in headers if name == b"origin"]
        session = self._sessions.find(cookies(headers).get(self._entrance.cookie), self._now_ms())
        identity = None if session is None else session.identity
        if not self._entrance.asks and identity != self._entrance.identity(_peer(scope), headers):
            identity = None
        welcome = (
            self._is_ours(headers)
            and not _is_heavy(headers)
            and len(origins) == 1
            and origins[0] in self._entrance.origins
        )
        opens = door_of(scope["path"]) is Door.STREAM and identity is not None
        if session is None or not (welcome and opens) or session.crowded:
            await refuse(receive, send)
        else:
            await carry(
                self._app, self._inner(scope, session), receive, send, session=session, now_ms=self._now_ms
            )

    async def _pass(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        session: Session | None,
        told: Sequence[Header] = (),
        *,
        kept: dict[str, str] | None = None,
        home: bool = False,
    ) -> None:
        """Let Streamlit answer. `home`: it may send browsers nowhere but to us."""

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = cast(Sequence[Header], message["headers"])
                away = [
                    value
                    for name, value in headers
                    if name == b"location" and not leads_home(value.decode("latin-1"))
                ]
                if home and message["status"] in _REDIRECTIONS and away:
                    headers = [(name, b"/" if name == b"location" else value) for name, value in headers]
                more = [*self._security, *told]
                message = {**message, "headers": outwards(headers, more, secure=self._entrance.secure)}
            await send(message)

        await self._app(self._inner(scope, session, kept), receive, say)

    def _inner(self, scope: Scope, session: Session | None, kept: dict[str, str] | None = None) -> Scope:
        """The request as Streamlit gets it: with the session's handle, and without what a stranger made up.

        A stream begins anew each time: which one it was before is a browser's word alone.
        """
        more: list[Header] = [] if session is None else [(HANDED_ON.encode(), session.handle.encode())]
        headers = inwards(scope["headers"], self._entrance.dropped(), more, kept or {})
        if scope["type"] == "websocket":
            headers = [
                (name, b",".join(value.split(b",")[:2]) if name == b"sec-websocket-protocol" else value)
                for name, value in headers
            ]
            protocols = cast(list[str], scope.get("subprotocols", []))[:2]
            return {**scope, "headers": headers, "subprotocols": protocols}
        return {**scope, "headers": headers}

    def _cookie(self, word: str, session: Session) -> Header:
        """The cookie that a browser keeps; without a word it is to forget it."""
        left_s = (session.end_ms - self._now_ms()) // 1000 if word else 0
        lasts = f"; Max-Age={max(0, left_s)}" if session.identity is not None else ""
        secure = "; Secure" if self._entrance.secure else ""
        text = f"{self._entrance.cookie}={word}; Path=/; HttpOnly; SameSite=Lax{lasts}{secure}"
        return b"set-cookie", text.encode()

    async def _say(self, send: Send, notice: words.Notice, told: Sequence[Header] = ()) -> None:
        await self._answer(send, notice.status, words.page(notice), [_HTML, _NOT_KEPT, *told])

    async def _answer(self, send: Send, status: int, body: bytes, told: Sequence[Header]) -> None:
        size: Header = (b"content-length", str(len(body)).encode())
        headers = outwards([], [*self._security, size, *told], secure=self._entrance.secure)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _is_heavy(headers: Sequence[Header]) -> bool:
    return sum(len(name) + len(value) for name, value in headers) > _HEAVIEST


def _wanted(scope: Scope) -> str:
    """The path and query that somebody asked for, as a redirection may carry them."""
    raw = cast(bytes, scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return (raw if leads_home(raw) else "/") + (f"?{query}" if query else "")


def _peer(scope: Scope) -> str | None:
    client = cast(tuple[str, int] | None, scope.get("client"))
    return None if client is None else client[0]
