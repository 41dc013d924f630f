"""Hubs: JupyterHub's REST API, as far as a server is looked at, stopped and started again. Nothing is sent twice from
here."""

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import orjson
import urllib3

from collector.kubernetes.values import Json, mapping, text
from enforcer.act.server import Server, State
from enforcer.act.wire import CONNECT_S, READ_S, Reply, Silence
from quartermaster.config.hubs import HubPart
from quartermaster.person import person_id

_PAGE, _MOST_USERS = 200, 100_000
_LARGEST, _AT_A_TIME = 8 * 1024 * 1024, 64 * 1024


class Hub:
    """One JupyterHub; may be used by many threads at once. `key` is the pseudonyms'."""

    def __init__(self, part: HubPart, key: bytes, read_s: float = READ_S) -> None:
        self._url, self._key, self._read_s = part.url.rstrip("/"), key, CONNECT_S + read_s
        self._headers = {"Authorization": f"token {part.token.reveal()}", "Accept": "application/json"}
        self._pool = urllib3.PoolManager(
            retries=False, timeout=urllib3.Timeout(connect=CONNECT_S, read=read_s), maxsize=8
        )
        self._names: dict[int, str] = {}  # of users, by pseudonym: in memory alone
        self._lock = threading.Lock()

    def state(self, server: Server) -> State:
        """What it says of a server. Raises Silence where it does not say."""
        for known in (True, False):  # whom we know by a name may have another since
            user = self._user(server.person, look=not known)
            if user is None:
                continue
            reply = self._ask("GET", f"/users/{_step(user)}?include_stopped_servers=1")
            if reply.good:
                return _state(_servers(reply.body, user).get(server.name))
            if reply.code != 404:
                raise Silence(f"the Hub: {reply.words}")
            with self._lock:
                self._names.pop(server.person, None)
        return State.NOBODY

    def ask(self, server: Server, *, up: bool) -> Reply:
        """Ask once that a server be started, or stopped; it may be under way when this is answered. Raises Silence.

        Nobody is looked for: that may take long, and whoever asks may have no time. `state` and `learn` do.
        """
        user = self._user(server.person, look=False)
        if user is None:
            raise Silence("the Hub: by which name it knows the user was not looked for")
        which = f"servers/{_step(server.name)}" if server.name else "server"
        return self._ask("POST" if up else "DELETE", f"/users/{_step(user)}/{which}")

    def learn(self, user: str) -> None:
        """Remember a user's name, so that it need not be looked for; what the Hub says of it is not changed by that."""
        with self._lock:
            self._names[person_id(self._key, user)] = user

    def close(self) -> None:
        """Give up its connections."""
        self._pool.clear()

    def _user(self, person: int, *, look: bool) -> str | None:
        """The name of the user who has this pseudonym; `look` through all that the Hub lists."""
        with self._lock:
            if not look:
                return self._names.get(person)
        names: dict[int, str] = {}
        offset = 0
        while offset < _MOST_USERS:  # a Hub may give fewer at a time than it is asked for
            reply = self._ask("GET", f"/users?{urlencode({'offset': offset, 'limit': _PAGE})}")
            if not reply.good:
                raise Silence(f"the Hub's users: {reply.words}")
            found = _users(reply.body)
            before = len(names)
            names |= {person_id(self._key, name): name for name in found if name}
            if len(names) == before:
                break  # the end; or a Hub before 2.0, which gives all its users each time
            offset += len(found)
        with self._lock:
            self._names = names
        return names.get(person)

    def _ask(self, method: str, path: str) -> Reply:
        until_s = time.monotonic() + self._read_s
        try:
            answer = self._pool.request(
                method, self._url + path, headers=self._headers, redirect=False, preload_content=False
            )
            try:
                body = _body(_said(answer, until_s))
            finally:
                answer.close()  # one that was read to its end has given its connection back already
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise Silence(f"the Hub: {type(error).__name__}: {str(error)[:200]}") from error
        if body is None and method == "GET" and 200 <= answer.status < 300:
            raise Silence("the Hub: its answer is no JSON")
        return Reply(answer.status, body or {})


@dataclass(frozen=True)
class Hubs:
    """The Hubs of a cluster, by the namespace of their pods, and the key of the pseudonyms."""

    of: Mapping[str, Hub] = field(default_factory=dict[str, Hub])
    key: bytes = b""

    def close(self) -> None:
        """Give up all connections."""
        for each in self.of.values():
            each.close()


def hubs_of(parts: Iterable[HubPart], key: bytes) -> Hubs:
    """The Hubs of the configuration. Raises ConfigurationError for a token that is not there."""
    return Hubs({each.namespace: Hub(each, key) for each in parts}, key)


def _step(name: str) -> str:
    """A name as one step of a path. Raises Silence for one that would lead elsewhere, such as from a server to its
    user."""
    if name in {".", ".."}:
        raise Silence(f"the Hub: {name!r} is no name that it can be asked for")
    return quote(name, safe="")


def _said(answer: urllib3.BaseHTTPResponse, until_s: float) -> bytes:
    """The whole answer. Raises Silence for one that is too large, or that comes in drops."""
    said = bytearray()
    while part := answer.read1(_AT_A_TIME, decode_content=False):
        said += part
        if len(said) > _LARGEST:
            raise Silence(f"the Hub: its answer is larger than {_LARGEST // 1024**2} MiB")
        if time.monotonic() > until_s:
            raise Silence("the Hub: its answer does not end")
    return bytes(said)


def _servers(told: Json, user: str) -> Mapping[str, Json]:
    """A user's servers. Raises Silence for an answer that is not about them: no server in it would look as stopped."""
    if told.get("name") != user or not isinstance(told.get("servers"), dict):
        raise Silence(
            "the Hub: it does not tell of the user's servers; does its token have the scope servers?"
        )
    return {name: mapping(each) for name, each in mapping(told.get("servers")).items()}


def _users(told: Json) -> list[str]:
    """The users' names of one page. Raises Silence for an answer that is no list of users."""
    page = told.get("users")
    if not isinstance(page, list):
        raise Silence("the Hub: it does not list its users")
    return [text(mapping(each).get("name")) for each in page]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _body(said: bytes) -> Json | None:
    """An answer's JSON; a list stands under `users`. None for what is none: some answers have no words."""
    try:
        told: object = orjson.loads(said)
    except ValueError:
        return None
    return {"users": told} if isinstance(told, list) else mapping(told)


def _state(server: Json | None) -> State:
    if server is None:
        return State.DOWN
    if server.get("pending") == "stop":
        return State.STOPPING
    up = server.get("ready") is True or server.get("pending") is not None or server.get("stopped") is False
    return State.UP if up else State.DOWN
