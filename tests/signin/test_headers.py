"""The headers: the policy is of the Streamlit that is installed, and no later one's doors open by themselves."""

import base64
import hashlib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.guard.doors import Door, door_of, file_of, is_odd, leads_home, offered
from dashboards.guard.headers import cookies, inline_scripts, inwards, outwards, policy


def test_the_policy_lets_run_what_stands_in_streamlit_s_page_and_nothing_else() -> None:
    page = (files("streamlit") / "static" / "index.html").read_text(encoding="utf-8")
    (script,) = inline_scripts(page)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = (part.partition(" ") for part in policy().split("; "))
    told = {name: rest for name, _, rest in parts}
    assert told["script-src"] == f"'self' 'sha256-{allowed}'"
    assert "unsafe" not in told["script-src"]
    assert told["default-src"] == told["base-uri"] == told["connect-src"] == "'self'"
    assert told["frame-ancestors"] == told["object-src"] == "'none'"


def test_scripts_with_an_address_are_none_of_the_page_itself() -> None:
    assert inline_scripts("<script src=a></script><script>let x = '<b>&amp;'</script><p>y</p>") == [
        "let x = '<b>&amp;'"
    ]


@pytest.mark.parametrize(
    ("path", "door"),
    [
        ("/", Door.PAGE),
        ("/waste", Door.PAGE),
        ("/application", Door.PAGE),
        ("/_stcore/health", Door.HEALTH),
        ("/_stcore/stream", Door.STREAM),
        ("/_stcore/metrics", Door.SHUT),
        ("/_stcore", Door.SHUT),
        ("/_stcore/what-a-later-one-adds", Door.SHUT),
        ("/_stcore/upload_file/a/b", Door.SHUT),
        ("/auth/other", Door.SHUT),
        ("/app/app.py", Door.SHUT),
        ("/media", Door.SHUT),
        ("/media/x", Door.MEDIA),
        ("/app/static/inter.woff2", Door.PARTS),
        ("/x/_stcore/stream", Door.SHUT),
    ],
)
def test_which_door(path: str, door: Door) -> None:
    assert door_of(path) is door


@pytest.mark.parametrize("location", ["//evil.example"])
def test_what_leads_away(location: str) -> None:
    assert not leads_home(location)


@given(st.text(max_size=40))
def test_what_leads_home_is_a_path_of_ours(location: str) -> None:
    if leads_home(location):
        assert location[0] == "/"
        assert location[1:2] not in {"/", "\\"}
        assert not is_odd(location.partition("?")[0], "")


@pytest.mark.parametrize("signs", [32, 40, 56, 64])
def test_downloads_are_found_in_messages_and_named_by_paths(signs: int) -> None:
    file = "0f" * (signs // 2)
    assert offered(b"\x0a\x29/media/" + file.encode() + b"b\x02") == {
        file
    }  # a field's tag may look like a sign
    assert offered(b"\x12\x45/media/" + file.encode() + b".csv2\x08 /media/short") == {file}
    assert file_of(f"/media/{file}.csv") == file_of(f"/media/{file}") == file
    for path in ("/media/", "/media/../x", f"/media/{file}/x", f"/media/{file}.csv/..", "/media/ABC"):
        assert file_of(path) is None


def test_of_cookies_the_first_counts_and_people_s_stay_here() -> None:
    told = [
        (b"cookie", b"a=1; _streamlit_xsrf=x; b"),
        (b"cookie", b"a=2; _streamlit_user=forged"),
        (b"x-us", b"forged"),
    ]
    assert cookies(told) == {"a": "1", "_streamlit_xsrf": "x", "_streamlit_user": "forged"}
    assert inwards(told, ["x-us"], [(b"x-us", b"we")], {}) == [
        (b"cookie", b"_streamlit_xsrf=x"),
        (b"x-us", b"we"),
    ]
    given_ = [
        (b"set-cookie", b"_streamlit_user_1=x"),
        (b"set-cookie", b"_streamlit_xsrf=x; Path=/"),
        (b"server", b"s"),
    ]
    assert outwards(given_, [], secure=True) == [(b"set-cookie", b"_streamlit_xsrf=x; Path=/; Secure")]
