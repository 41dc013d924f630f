"""Who is told by which channel: routes, owners, pauses after a failure, and each channel's hour."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.idleness import Notice
from enforcer.ladder.letter import OWNER, TEAM, Held, Owner, Post, Sent, is_address, write
from enforcer.ladder.rung import AGAIN, WARN, Rung
from quartermaster.config.notify import NotifyPart
from tests.enforcer.clusters import NOW, UTC
from tests.ladder.idlers import MIN, POLICY, H, rung, workload
from tests.ladder.receivers import notify

ALICE = {"w": Owner(7, 8, "alice@example.org")}


def posted(
    *wanted: Rung, to: NotifyPart, whose: dict[str, Owner] | None = None, sent: tuple[Sent, ...] = ()
) -> Post:
    return write(wanted, to, whose or {}, sent, policy=POLICY, zone=UTC, at_ms=NOW)


def addressed(post: Post) -> list[tuple[str, str, str]]:
    return [(each.channel, each.addressee, each.to) for each in post.letters]


def was(channel: str = "slack", *, ago: int, accepted: bool = False, **more: Any) -> Sent:
    key = {"cluster": "main", "uid": "w", "stage": WARN, "channel": channel, "addressee": TEAM} | more
    return Sent(tuple(key.values()), NOW - ago, accepted)


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ([{"team": "vision", "channels": ["slack"]}], ["slack"]),
        ([{"team": "vis*", "channels": ["mail", "slack"]}], ["slack", "mail"]),
        ([{"team": "nlp", "channels": ["slack"]}, {"channels": ["mail"]}], ["mail"]),
        ([{"channels": ["mail", "mail"]}, {"team": "vision", "channels": ["slack"]}], ["mail"]),
        ([{"team": "nlp", "channels": ["slack"]}], []),
        ([], []),
    ],
)
def test_the_first_route_that_names_the_team_counts(routes: list[dict[str, Any]], told: list[str]) -> None:
    post = posted(rung(), to=notify("slack", "mail", routes=routes))
    assert addressed(post) == [(channel, TEAM, "") for channel in told]
    assert post.held == (() if told else (Held("w", "no channel leads to team vision, nor to the owner"),))


def test_an_owner_is_written_to_where_the_contact_is_known_and_is_an_address() -> None:
    to = notify("slack", "mail", routes=[{"channels": ["slack"]}], owners="mail")
    (team, owner) = posted(rung(), to=to, whose=ALICE).letters
    assert (team.addressee, team.to, team.workload_id, team.person_id) == (TEAM, "", 7, None)
    assert (owner.addressee, owner.to, owner.workload_id, owner.person_id) == (
        OWNER,
        "alice@example.org",
        7,
        8,
    )
    assert team.message == owner.message
    assert "alice" not in repr((owner, ALICE))
    for contact in ("", "alice", "a@b.c, d@e.f", "Alice <a@b.c>"):
        whose = {"w": replace(ALICE["w"], contact=contact)}
        assert addressed(posted(rung(), to=to, whose=whose)) == [("slack", TEAM, "")]
    nobody = notify("mail", owners="mail", routes=[])
    assert addressed(posted(rung(), to=nobody, whose=ALICE)) == [("mail", OWNER, "alice@example.org")]


@pytest.mark.parametrize(
    ("contact", "expected"),
    [
        ("alice@example.org", True),
        ("a.b+gpu@sub.example.co.uk", True),
        ("alice@localhost", False),
        ("a@b.c,d@e.f", False),
        ("a@b.c d@e.f", False),
        ("a@b.c\nBcc: d@e.f", False),
        ("a@b.c\n", False),
        ('"a b"@c.de', False),
        ("<a@b.c>", False),
        ("-oProxy@b.c", False),
        ("a@b.c?cc=d@e.f", False),
        ("mailto:a@b.c", False),
        ("@b.c", False),
        ("a" * 250 + "@b.cde", False),
        ("älice@example.org", False),
    ],
)
def test_an_address(contact: str, expected: bool) -> None:
    assert is_address(contact) is expected


def test_a_stage_of_a_spell_is_told_once() -> None:
    to = notify("slack")
    for told, letters in (
        (Notice(WARN, NOW - H), 0),
        (Notice(AGAIN, NOW - H), 1),
        (Notice(WARN, NOW - 3 * H), 1),  # it fell idle two hours ago: that was another spell
        (Notice(WARN, NOW - 2 * H), 1),
        (Notice(WARN, NOW - 2 * H + 1), 0),
    ):
        there = rung()
        there = replace(there, found=replace(there.found, notices=(told,)))
        assert len(posted(there, to=to).letters) == letters


def test_what_was_not_accepted_is_written_again_after_a_pause() -> None:
    to = notify("slack")
    for sent, letters in (
        ([was(ago=59_999)], 0),
        ([was(ago=60_000)], 1),
        ([was(ago=10 * MIN), was(ago=30_000)], 0),
        ([was(ago=30_000, stage=AGAIN)], 1),
        ([was(ago=30_000, uid="other")], 1),
        ([was(ago=30_000, cluster="other")], 1),
        ([was(ago=30_000, addressee=OWNER)], 1),
    ):
        post = posted(rung(), to=to, sent=tuple(sent))
        assert len(post.letters) == letters
        assert [each.words for each in post.held] == [
            "slack did not take it; it is tried again after 60 s"
        ] * (1 - letters)


def test_a_channel_carries_no_more_in_an_hour_than_it_may() -> None:
    to = notify("slack", "mail", an_hour=3, routes=[{"channels": ["slack", "mail"]}])
    many = [Rung("main", WARN, replace(workload(), uid=f"w{n}"), rung().found) for n in range(4)]
    sent = (
        was(ago=H - 1, uid="x"),
        was(ago=H, uid="y"),
        was("mail", ago=1, uid="x", cluster="other", accepted=True),
    )
    post = posted(*many, to=to, sent=sent)
    assert [(each.uid, each.channel) for each in post.letters] == [
        ("w0", "slack"), ("w0", "mail"), ("w1", "slack"), ("w1", "mail"),
    ]  # fmt: skip
    assert [(each.uid, each.words) for each in post.held] == [
        (uid, f"{channel} has carried 3 messages within an hour, and may carry no more")
        for uid in ("w2", "w3")
        for channel in ("slack", "mail")
    ]
