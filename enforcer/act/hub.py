"""Hubs: JupyterHub's REST API, as far as a server is looked at, stopped and started again. Nothing is sent twice from
here."""

import threading
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
_LARGEST = 8 * 1024 * 1024


class Hub:
    """One JupyterHub; may be used by many threads at once. `key` is the pseudonyms'."""

    def __init__(self, part: HubPart, key: bytes, read_s: float = READ_S) -> None:
        self._url, self._key = part.url.rstrip("/"), key
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
            reply = self._ask("GET", f"/users/{quote(user, safe='')}?include_stopped_servers=1")
            if reply.good:
                return _state(mapping(mapping(reply.body.get("servers")).get(server.name)))
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
        which = f"servers/{quote(server.name, safe='')}" if server.name else "server"
        return self._ask("POST" if up else "DELETE", f"/users/{quote(user, safe='')}/{which}")

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
            page = reply.body.get("users")
            found = [text(mapping(each).get("name")) for each in page] if isinstance(page, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            names |= {person_id(self._key, name): name for name in found if name}
            if not found:
                break
            offset += len(found)
        with self._lock:
            self._names = names
        return names.get(person)

    def _ask(self, method: str, path: str) -> Reply:
        try:
            answer = self._pool.request(
                method, self._url + path, headers=self._headers, redirect=False, preload_content=False
            )
            try:
                said = answer.read(_LARGEST)
            finally:
                answer.release_conn()
            body = _body(said)
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


def _body(said: bytes) -> Json | None:
    """An answer's JSON; a list stands under `users`. None for what is none: some answers have no words."""
    try:
        told: object = orjson.loads(said)
    except ValueError:
        return None
    return {"users": told} if isinstance(told, list) else mapping(told)


def _state(server: Json) -> State:
    if server.get("pending") == "stop":
        return State.STOPPING
    up = server.get("ready") is True or server.get("pending") is not None or server.get("stopped") is False
    return State.UP if up else State.DOWN
