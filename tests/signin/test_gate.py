"""The gate: each door that the house behind it leaves open, shut. Of every door it is shown that it is open without."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from starlette.websockets import WebSocketDisconnect

from quartermaster.clock import HOUR_MS
from tests.signin.client import TestClient, WebSocketTestSession
from tests.signin.conftest import COOKIE, SECRET, SITE, Guarded
from tests.signin.open_house import ALICE, FILE, NOW

Make = Callable[..., Guarded]
FROM_PROXY = {
    "x-quartermaster-secret": SECRET,
    "x-forwarded-user": "alice",
    "x-forwarded-groups": "vision,staff",
}
STREAM = "/_stcore/stream"


def stream_of(
    client: TestClient, protocols: Sequence[str] | None = None, **headers: str
) -> WebSocketTestSession:
    """A stream as the client's browser opens it."""
    kept = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    told = {"origin": SITE, "cookie": kept} | headers
    where = str(client.base_url).replace("http", "ws", 1) + STREAM
    return client.websocket_connect(where, protocols, headers={name: v for name, v in told.items() if v})


def opens(client: TestClient, **headers: str) -> bool:
    """Whether a stream opens."""
    try:
        with stream_of(client, **headers) as stream:
            stream.send_bytes(b"hello")
            return stream.receive_bytes() == b"hello"
    except WebSocketDisconnect:
        return False


SHUT = [
    ("GET", "/_stcore/metrics", 404),
    ("GET", "/_stcore/agent/openapi.json", 404),
    ("GET", "/_stcore/script-health-check", 404),
    ("GET", "/waste/_stcore/host-config", 404),
    ("GET", f"/media/{FILE}.csv", 404),
    ("GET", "/media/..%2fapp.py", 400),
    ("GET", f"{SITE}//evil.example/", 400),
    ("GET", "/%5cevil.example/", 400),
    ("GET", "/?" + "x" * 9_000, 400),
    ("POST", "/", 405),
    ("PUT", "/_stcore/upload_file/a/b", 405),
    ("DELETE", "/_stcore/upload_file/a/b", 405),
]


@pytest.mark.parametrize(("method", "path", "status"), SHUT)
def test_doors_that_are_shut_for_everybody(guarded: Make, method: str, path: str, status: int) -> None:
    made = guarded("oidc")
    assert TestClient(made.house.app).request(method, path).status_code == 200  # without the guard
    made.sign_in()
    before = len(made.house.heard)
    assert made.client.request(method, path).status_code == status
    assert len(made.house.heard) == before  # it never got there


@pytest.mark.parametrize(
    "path", ["/static/js/index.js", "/app/static/inter.woff2", "/_stcore/host-config", "/component/x"]
)
def test_what_pages_are_made_of_is_for_who_is_signed_in(guarded: Make, path: str) -> None:
    made = guarded("oidc")
    assert TestClient(made.house.app).get(path).status_code == 200
    assert made.client.get(path).status_code == 401
    assert len(made.house.heard) == 1
    made.sign_in()
    assert made.client.get(path).json() == {"path": path}


def test_a_stranger_is_shown_the_way_and_lands_where_they_wished_to_go(guarded: Make) -> None:
    made = guarded("oidc")
    shown = made.client.get("/waste?team=vision&week=2026-W48")
    assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    assert 'href="/sign-in"' in shown.text
    assert not made.house.heard
    made.client.get("/icon.png", headers={"sec-fetch-dest": "image"})
    assert made.client.get("/sign-in").headers["location"] == "/auth/login?provider=x"
    assert made.client.get("/oauth2callback?code=1").headers["location"] == "/waste?team=vision&week=2026-W48"
    assert made.client.get("/waste").json() == {"path": "/waste"}


def test_no_cookie_of_streamlits_leaves_and_none_is_believed(guarded: Make) -> None:
    made = guarded("oidc")
    bare = TestClient(made.house.app, follow_redirects=False).get("/oauth2callback")
    assert any("_streamlit_user=" in each for each in bare.headers.get_list("set-cookie"))
    made.client.get("/")
    back = made.client.get("/oauth2callback?code=1")
    assert not any("_streamlit_user" in each for each in back.headers.get_list("set-cookie"))
    stranger = made.another(_streamlit_user=bare.cookies["_streamlit_user"])
    assert "Sign in" in stranger.get("/").text
    made.client.get("/", headers={"cookie": "_streamlit_user=forged; _streamlit_xsrf=x"})
    assert "_streamlit_user" not in made.house.heard[-1].get("cookie", "")


def test_a_session_is_under_a_new_word_after_signing_in(guarded: Make) -> None:
    made = guarded("oidc")
    made.client.get("/")
    before = made.client.cookies[COOKIE]
    made.sign_in()
    assert made.client.cookies[COOKIE] != before
    assert "Sign in" in made.another(**{COOKIE: before}).get("/").text


def test_a_sign_out_revokes_a_copied_cookie_and_closes_what_is_open(guarded: Make) -> None:
    made = guarded("oidc")
    made.sign_in()
    copied = made.copy()
    assert copied.get("/").json() == {"path": "/"}
    with stream_of(copied) as stream:
        left = made.client.get("/auth/logout")
        assert left.headers["location"] == "https://id.example.org/end"
        assert "_streamlit_user=" in made.house.heard[-1]["cookie"]  # so that the provider is told, too
        with pytest.raises(WebSocketDisconnect):
            stream.receive_bytes()
    assert "Sign in" in copied.get("/").text
    assert not opens(copied)
    assert "Sign in" in made.client.get("/").text


@pytest.mark.parametrize(
    ("claims", "lasts_ms"),
    [
        (ALICE, HOUR_MS),  # the token's own end
        (ALICE | {"exp": (NOW + 90 * HOUR_MS) // 1000}, 10 * HOUR_MS),  # the configuration's
        (ALICE | {"exp": (NOW + 90 * HOUR_MS) // 1000, "auth_time": (NOW - 9 * HOUR_MS) // 1000}, HOUR_MS),
    ],
)
def test_a_session_ends_with_its_token_or_its_hours(
    guarded: Make, claims: dict[str, object], lasts_ms: int
) -> None:
    made = guarded("oidc")
    made.house.claims = claims
    made.sign_in()
    made.now_ms = NOW + lasts_ms - 1
    assert made.client.get("/").json() == {"path": "/"}
    made.now_ms = NOW + lasts_ms
    assert "Sign in" in made.copy().get("/").text
    assert not opens(made.client)


@pytest.mark.parametrize(
    "claims",
    [
        None,
        ALICE | {"exp": NOW // 1000},
        {key: value for key, value in ALICE.items() if key != "exp"},
        {key: value for key, value in ALICE.items() if key != "email"},
        ALICE | {"email_verified": False},
        ALICE | {"email": ["alice@example.org"]},
        ALICE | {"exp": "never"},
        ALICE | {"auth_time": (NOW - 11 * HOUR_MS) // 1000},
    ],
)
def test_whom_the_provider_does_not_vouch_for_is_not_let_in(
    guarded: Make, claims: dict[str, object] | None
) -> None:
    made = guarded("oidc")
    made.house.claims = claims
    made.client.get("/")
    answer = made.client.get("/oauth2callback?code=1")
    assert answer.status_code == 403
    assert "did not work" in answer.text
    assert not opens(made.client)
    assert made.client.get("/oauth2callback").status_code == 200  # as after signing out at the provider


def test_a_download_is_for_the_session_that_it_was_offered_to(guarded: Make) -> None:
    made = guarded("oidc")
    assert (
        TestClient(made.house.app).get(f"/media/{FILE}.csv").status_code == 200
    )  # to anybody, without the guard
    other = made.another()
    made.sign_in()
    made.sign_in(other)
    with stream_of(made.client) as stream:
        stream.send_bytes(b"file")
        stream.receive_bytes()
    given = made.client.get(f"/media/{FILE}.csv")
    assert (given.status_code, given.headers["cache-control"]) == (200, "no-store")
    assert [each.get(f"/media/{FILE}.csv").status_code for each in (other, made.another())] == [404, 401]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://gpu.example.org", "null", ""]
)  # "": none at all
def test_a_stream_needs_our_own_origin(guarded: Make, origin: str) -> None:
    made = guarded("oidc")
    made.sign_in()
    assert opens(made.client)
    assert not opens(made.client, origin=origin)
    assert opens(TestClient(made.house.app), origin=origin)  # without the guard


def test_a_stream_needs_a_session_and_never_takes_up_another_s(guarded: Make) -> None:
    made = guarded("oidc")
    assert not opens(made.client)
    made.sign_in()
    with stream_of(made.client, ["streamlit", "xsrf", "somebody-else-s-session"]):
        told = made.house.heard[-1]
    assert told["sec-websocket-protocol"].replace(" ", "") == "streamlit,xsrf"
    assert made.sessions.holder(told["x-quartermaster-pass"], NOW) is not None


def test_one_browser_has_so_many_streams_and_no_more(guarded: Make) -> None:
    made = guarded("oidc")
    made.sign_in()
    session = made.sessions.find(made.client.cookies[COOKIE], NOW)
    assert session is not None
    session.closers.update([partial(print, number) for number in range(20)])
    assert session.crowded
    assert not opens(made.client)


@pytest.mark.parametrize("way", ["local", "oidc", "proxy"])
@pytest.mark.parametrize(
    "host", ["evil.example", "gpu.example.org.evil.example", "gpu.example.org:444", "10.0.0.1"]
)
def test_no_other_name_is_answered_to(guarded: Make, way: str, host: str) -> None:
    made = guarded(way, **(FROM_PROXY if way == "proxy" else {}))
    assert TestClient(made.house.app).get("/", headers={"host": host}).status_code == 200
    assert made.client.get("/", headers={"host": host}).status_code == 421
    assert not opens(made.client, host=host)
    assert made.client.get("/_stcore/health", headers={"host": host}).status_code == 200  # a probe's


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/_stcore/metrics", "/sign-in", "/media/x"])
def test_every_answer_has_the_headers(guarded: Make, path: str) -> None:
    for way in ("local", "oidc", "proxy"):
        told = guarded(way).client.get(path).headers
        assert told["content-security-policy"] == "default-src 'self'"
        assert told["x-content-type-options"] == "nosniff"
        assert told.get_list("x-frame-options") == ["DENY"]
        assert told["referrer-policy"] == "same-origin"
        assert "server" not in told
        assert ("strict-transport-security" in told) is (way != "local")


def test_cookies_are_secure_behind_tls_and_out_of_reach_of_scripts(guarded: Make) -> None:
    made = guarded("oidc")
    made.sign_in()
    given = [made.another().get("/").headers["set-cookie"], made.client.get("/").headers["set-cookie"]]
    assert all("secure" in each.lower() for each in given)
    assert all(word in given[0] for word in (f"{COOKIE}=", "HttpOnly", "SameSite=Lax", "Path=/"))
    local = guarded("local").client.get("/").headers["set-cookie"]
    assert "HttpOnly" in local
    assert "secure" not in local.lower()


def test_nobody_is_sent_away_from_here(guarded: Make) -> None:
    made = guarded("oidc")
    assert (
        TestClient(made.house.app, follow_redirects=False).get("/away").headers["location"]
        == "//evil.example/x"
    )
    made.sign_in()
    assert made.client.get("/away").headers["location"] == "/"


def test_bodies_and_long_headers_are_not_taken(guarded: Make) -> None:
    made = guarded("oidc")
    made.sign_in()
    assert made.client.get("/", headers={"x": "a" * 40_000}).status_code == 431
    assert not opens(made.client, x="a" * 40_000)
    assert made.client.request("GET", "/", content=b"x" * 10).status_code == 413


@pytest.mark.parametrize(
    ("peer", "changed", "status"),
    [
        ("10.0.0.7", {}, 200),
        ("10.0.1.7", {}, 403),  # not listed, whatever it says
        ("127.0.0.1", {}, 403),
        ("10.0.0.7", {"x-quartermaster-secret": "guessed"}, 403),
        ("10.0.0.7", {"x-quartermaster-secret": ""}, 403),
        ("10.0.0.7", {"x-forwarded-user": ""}, 403),
    ],
)
def test_a_proxy_is_believed_from_its_own_address_alone(
    guarded: Make, peer: str, changed: dict[str, str], status: int
) -> None:
    made = guarded("proxy", peer, **(FROM_PROXY | changed))
    assert made.client.get("/").status_code == status
    assert opens(made.client) is (status == 200)
    assert len(made.house.heard) == (2 if status == 200 else 0)


def test_what_a_proxy_says_reaches_no_page_but_as_our_own_word(guarded: Make) -> None:
    made = guarded("proxy", **FROM_PROXY, **{"x-quartermaster-pass": "forged"})
    made.client.get("/")
    assert opens(made.client)
    told = made.house.heard[-1]
    assert not {"x-forwarded-user", "x-forwarded-groups", "x-quartermaster-secret"} & set(told)
    session = made.sessions.holder(told["x-quartermaster-pass"], NOW)
    assert session is not None
    assert session.identity is not None
    assert (session.identity.person, session.identity.groups) == ("alice", frozenset({"vision", "staff"}))


def test_when_the_proxy_says_somebody_else_the_session_is_another(guarded: Make) -> None:
    made = guarded("proxy", **FROM_PROXY)
    made.client.get("/")
    word = made.client.cookies[COOKIE]
    made.client.get("/", headers={"x-forwarded-user": "eve"})
    assert made.client.cookies[COOKIE] != word
    assert made.sessions.find(word, NOW) is None
    assert not opens(made.client)  # alice again, with eve's cookie


def test_a_header_that_stands_twice_is_nobody_s(guarded: Make) -> None:
    made = guarded("proxy", **FROM_PROXY)
    pairs = [*FROM_PROXY.items(), ("x-forwarded-user", "root")]
    assert (
        TestClient(made.gate, base_url=SITE, client=("10.0.0.7", 1)).get("/", headers=pairs).status_code
        == 403
    )


def test_local_pages_are_served_to_browsers_that_came_by_the_front(guarded: Make) -> None:
    made = guarded("local", "127.0.0.1")
    here = {"origin": "http://127.0.0.1:8501"}
    assert not opens(made.client, **here)
    assert made.client.get("/").json() == {"path": "/"}
    assert opens(made.client, **here)
    assert not opens(made.client, origin="http://evil.example")
