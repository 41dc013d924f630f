"""A Hub that answers anything: what is not about the server is silence, never a stopped server; and it ends."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest
from typing_extensions import override

from enforcer.act.hub import Hub
from enforcer.act.server import Server, State
from enforcer.act.wire import Silence
from quartermaster.config.hubs import HubPart
from quartermaster.config.secret import Secret
from quartermaster.person import person_id

KEY, TOKEN = b"k" * 32, "a-token"
ADA = Server("jhub", person_id(KEY, "ada"), "")
UP = {"name": "ada", "servers": {"": {"ready": True}}}
Answer = Callable[[str], tuple[int, bytes, dict[str, str]]]


class Anything:
    """An HTTP server that answers as it is told to."""

    def __init__(self) -> None:
        self.answer: Answer = said({})
        self.drips = False
        self.asked: list[tuple[str, str, str]] = []  # method, path, token
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                outer.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
                code, body, headers = outer.answer(self.path)
                self.send_response(code)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):  # who asks may have heard enough
                    for sign in body if outer.drips else ():
                        self.wfile.write(bytes([sign]))
                        time.sleep(0.02)
                    self.wfile.write(b"" if outer.drips else body)

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


def said(value: object, code: int = 200, **headers: str) -> Answer:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda path: (code, body, headers)


@pytest.fixture
def anything() -> Iterator[Anything]:
    made = Anything()
    threading.Thread(target=made.server.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def hub(anything: Anything, *, knows: bool = True, **more: Any) -> Hub:
    part = HubPart.model_construct(namespace="jhub", url=anything.url, token=Secret("${env:T}", TOKEN))
    made = Hub(part, KEY, **more)
    if knows:
        made.learn("ada")
    return made


NONSENSE = {
    "a page": b"<html>Sign in</html>",
    "nothing": b"",
    "null": None,
    "a word": "hello",
    "something else": {"version": "5.2.1"},
    "a list": [UP],
    "somebody else": {"name": "ben", "servers": {}},
    "no right to see servers": {"name": "ada", "kind": "user"},
    "servers that are none": {"name": "ada", "servers": "none"},
    "an error with a good code": {"status": 404, "message": "no"},
    "as deep as can be": b"[" * 100_000 + b"]" * 100_000,
    "cut off": json.dumps(UP).encode()[:-1],
}


@pytest.mark.parametrize("case", NONSENSE)
def test_an_answer_that_is_not_about_the_server_is_silence(case: str, anything: Anything):
    anything.answer = said(NONSENSE[case])
    with pytest.raises(Silence):
        hub(anything).state(ADA)


@pytest.mark.parametrize("case", sorted({*NONSENSE} - {"a list"}))
def test_what_is_no_list_of_users_does_not_say_that_there_is_no_such_user(case: str, anything: Anything):
    anything.answer = said(NONSENSE[case])
    with pytest.raises(Silence):
        hub(anything, knows=False).state(ADA)


def test_what_the_hub_says_counts(anything: Anything):
    anything.answer = said(UP)
    assert hub(anything).state(ADA) is State.UP
    anything.answer = said({"name": "ada", "servers": {}})
    assert hub(anything).state(ADA) is State.DOWN


@pytest.mark.parametrize("found", [True, False])
def test_a_hub_that_gives_all_its_users_each_time_is_asked_twice_at_most(found: bool, anything: Anything):
    """Before JupyterHub 2.0 there were no pages."""
    users = said([{"name": "ada" if found else "ben"}, {"name": "eve"}, {}])
    anything.answer = lambda path: users(path) if path.startswith("/users?") else said(UP)(path)
    assert hub(anything, knows=False).state(ADA) is (State.UP if found else State.NOBODY)
    assert len([path for _, path, _ in anything.asked if path.startswith("/users?")]) == 2


@pytest.mark.patient
def test_a_large_answer_is_not_read_to_its_end_and_the_next_is_its_own(anything: Anything):
    anything.answer = said(json.dumps(UP | {"x": "a" * 100_000_000}).encode())
    hears = hub(anything)
    with pytest.raises(Silence, match="larger than 8 MiB"):
        hears.state(ADA)
    anything.answer = said(UP)
    assert hears.state(ADA) is State.UP


@pytest.mark.patient
def test_an_answer_in_drops_ends(anything: Anything):
    anything.answer, anything.drips = said(UP | {"x": "a" * 10_000}), True
    with pytest.raises(Silence, match="does not end"):
        hub(anything, read_s=0.1).state(ADA)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_the_token_follows_no_redirect(code: int, anything: Anything):
    anything.answer = lambda path: (code, b"", {"Location": f"{anything.url}/elsewhere"})
    with pytest.raises(Silence, match=str(code)):
        hub(anything).state(ADA)
    assert not hub(anything).ask(ADA, up=False).good
    assert {path for _, path, _ in anything.asked} == {
        "/users/ada?include_stopped_servers=1",
        "/users/ada/server",
    }


@pytest.mark.parametrize("name", ["../../groups", "a?b#c", "\u202e\n", "%2e%2e", "a/../..", "..", "."])
def test_hostile_names_stay_names_in_its_paths(name: str, anything: Anything):
    """Nobody's name is a way to another place of its API: there a user, not a server, would be deleted."""
    hears = hub(anything)
    hears.learn(name)
    for server in (Server("jhub", person_id(KEY, name), ""), Server("jhub", ADA.person, name)):
        with suppress(Silence):
            hears.ask(server, up=False)
    one = quote(name, safe="")
    sent = {path for _, path, _ in anything.asked}
    assert sent == (set() if name in {"..", "."} else {f"/users/{one}/server", f"/users/ada/servers/{one}"})
