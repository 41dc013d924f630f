"""A message carried to real servers on loopback: what they take counts, and nothing else; no secret in any word."""

import json
import logging
import socket
import time
from email import message_from_string
from email.policy import default

import pytest

from enforcer.ladder.carried import carry
from enforcer.ladder.message import Message, message
from tests.enforcer.clusters import NOW, UTC
from tests.ladder.idlers import POLICY, rung
from tests.ladder.receivers import Mail, Webhook

TOLD = message(rung(), POLICY, UTC, NOW)
SECRET = "3ccdd113474722377935511fc85d3dd4"  # as long as Mattermost wants it


def urls(address: str) -> list[str]:
    """The same server as a webhook of each of several makes."""
    return [f"json://{address}/{SECRET}", f"mmost://{address}/{SECRET}", f"form://me:{SECRET}@{address}/"]


@pytest.mark.patient
def test_what_a_webhook_takes_is_accepted() -> None:
    with Webhook() as hook:
        assert [carry(url, TOLD, 5) for url in urls(hook.address)] == ["", "", ""]
        (_, path, whole), (_, hooks, text), _ = hook.heard
    assert path == f"/{SECRET}"
    told = json.loads(whole)
    assert (told["title"], told["message"], told["type"]) == (TOLD.title, TOLD.body, "warning")
    assert hooks == f"/hooks/{SECRET}"
    assert json.loads(text)["text"].splitlines() == [TOLD.title, *TOLD.body.splitlines()]
    assert "icon_url" not in json.loads(text)


@pytest.mark.parametrize("mood", [400, 401, 404, 429, 500, 503])
def test_what_it_answers_badly_is_not(mood: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Webhook(mood) as hook:
        for url in urls(hook.address):
            assert carry(url, TOLD, 5) == f"its server answered {mood}"
            assert carry(f"{url}?optional=yes&retry=0", TOLD, 5) == f"its server answered {mood}"
    assert SECRET not in caplog.text


@pytest.mark.parametrize("mood", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_even_where_the_url_says_so(mood: int) -> None:
    with Webhook() as other, Webhook(mood, f"http://{other.address}/") as hook:
        for url in urls(hook.address):
            assert carry(f"{url}?redirect=yes", TOLD, 5) == f"its server answered {mood}"
        assert other.heard == []


def test_who_does_not_answer_in_time_has_not_taken_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Webhook("hang") as hook, Mail("hang") as mail:
        for url in (
            f"json://{hook.address}/{SECRET}?rto=60&cto=60",
            f"mailto://me:{SECRET}@{mail.address}?from=q@h.org&to=a@b.org",
        ):
            began = time.monotonic()
            assert (
                carry(url, TOLD, 0.2) == "its server was not reached, did not answer in 0.2 s, or refused it"
            )
            assert time.monotonic() - began < 15  # it would take twenty seconds
    assert SECRET not in caplog.text


def test_who_is_not_there_has_not_taken_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        for url in (
            *urls(address),
            f"mailto://{address}?user=me&pass={SECRET}&from=q@h.org&to=a@b.org&mode=insecure",
        ):
            assert "was not reached" in carry(url, TOLD, 1)
    assert SECRET not in caplog.text


def test_mail_is_plain_text_to_those_whom_the_url_names() -> None:
    with Mail() as mail:
        assert (
            carry(f"mailto://{mail.address}?from=q@house.org&to=team@house.org&mode=insecure", TOLD, 5) == ""
        )
    ((sender, addressees, text),) = mail.heard
    assert (sender, addressees) == ("<q@house.org>", ["<team@house.org>"])
    told = message_from_string(text, policy=default)
    assert told["Subject"] == TOLD.title
    body = told.get_body(("plain",))
    assert body is not None
    assert body.get_content().replace("\r\n", "\n").rstrip(".\n") + "." == TOLD.body


def test_an_owner_is_the_only_addressee() -> None:
    with Mail() as mail:
        url = f"mailto://{mail.address}?from=q@house.org&to=team@house.org&cc=boss@house.org&bcc=x@house.org&mode=insecure"
        assert carry(url, TOLD, 5, "alice@house.org") == ""
    ((_, addressees, text),) = mail.heard
    assert addressees == ["<alice@house.org>"]
    assert "boss@" not in text


@pytest.mark.parametrize("mood", [450, 550, 554])
def test_mail_that_is_refused_is_not_accepted(mood: int) -> None:
    with Mail(mood) as mail:
        url = f"mailto://{mail.address}?from=q@house.org&to=team@house.org&mode=insecure"
        assert "refused it" in carry(url, TOLD, 5)
        assert mail.heard == []


def test_an_owner_is_not_written_to_by_a_channel_of_another_kind() -> None:
    with Webhook() as hook:
        said = "it is no channel of mail, and an owner is written to by mail"
        assert carry(f"json://{hook.address}/", TOLD, 5, "alice@house.org") == said
        assert hook.heard == []


@pytest.mark.parametrize("url", ["", "nosuch://x", "json://", SECRET, "slack://a/b", "mailto://", "https://"])
def test_what_is_no_channel(
    url: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    assert carry(url, TOLD, 5) == "apprise knows no channel of such a URL"
    assert SECRET not in caplog.text
    assert "".join(capfd.readouterr()) == ""


def test_whatever_is_said_arrives_as_it_is() -> None:
    """No sign of it is a service's markup: not an escape, an emoji, or a template."""
    odd = Message(":fire: {{app_id}} \\n ${x}", "a \\t :smile: {{app_body}} <b>", "")
    with Webhook() as hook:
        assert carry(f"json://{hook.address}/?emojis=no", odd, 5) == ""
        told = json.loads(hook.heard[0][2])
    assert (told["title"], told["message"]) == (odd.title, odd.body)
