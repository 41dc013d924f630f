"""The ladder's shell on a real ledger and a real webhook: told once, tried again, and nothing lost by an outage."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from enforcer.ladder.letter import Held
from enforcer.ladder.rung import WARN, Rung
from enforcer.ladder.told import notified
from enforcer.ladder.warner import Warned, Warner
from quartermaster.clock import now_ms
from quartermaster.config.notify import NotifyPart
from quartermaster.errors import LedgerError
from sql.ledger import Ledger
from tests.enforcer.clusters import UTC
from tests.ladder.idlers import MIN, POLICY, rung
from tests.ladder.receivers import Webhook, notify


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with Webhook() as opened:
        yield opened


def to(hook: Webhook, **more: Any) -> NotifyPart:
    return notify("slack", urls=[f"json://{hook.address}/"], **more)


def warned_of(ledger: Ledger) -> Rung:
    """A rung of this minute, with the warnings that the ledger has."""
    there = rung()
    with ledger.reading() as cursor:
        told = tuple(notified(cursor, "main", now_ms()).get("w", ()))
    return replace(there, found=replace(there.found, since_ms=now_ms() - 120 * MIN, notices=told))


def test_a_warning_is_begun_settled_and_never_begun_again(ledger: Ledger, hook: Webhook) -> None:
    warner = Warner(ledger, "main", to(hook))
    there = warned_of(ledger)
    for _ in range(3):  # the loop comes by more often than a channel answers
        assert warner.begin([there], POLICY, UTC, now_ms()) == ()
    (one,) = warner.settle(now_ms(), all_of_it=True)
    assert (one.rung, json.loads(hook.heard[0][2])["message"]) == (there, one.message.body)
    told = warned_of(ledger)
    assert [each.stage for each in told.found.notices] == [WARN]
    assert warner.begin([told], POLICY, UTC, now_ms()) == ()
    assert warner.settle(now_ms(), all_of_it=True) == ()
    assert len(hook.heard) == 1


def test_what_fails_counts_for_nothing_and_is_tried_again_after_the_pause(
    ledger: Ledger, hook: Webhook
) -> None:
    hook.mood = 500
    warner = Warner(ledger, "main", to(hook))
    warner.begin([warned_of(ledger)], POLICY, UTC, now_ms())
    assert warner.settle(now_ms(), all_of_it=True) == ()
    there = warned_of(ledger)
    assert there.found.notices == ()
    hook.mood = 200
    held = warner.begin([there], POLICY, UTC, now_ms())
    assert held == (Held("w", "slack did not take it; it is tried again after 60 s"),)
    assert warner.settle(now_ms(), all_of_it=True) == ()
    assert warner.begin([there], POLICY, UTC, now_ms() + MIN) == ()
    assert len(warner.settle(now_ms(), all_of_it=True)) == 1
    assert ledger.query("select accepted, words from notifications order by sent_at").rows() == [
        (False, "its server answered 500"),
        (True, "accepted"),
    ]


def test_two_channels_that_accept_are_one_warning(ledger: Ledger, hook: Webhook) -> None:
    both = notify(
        "slack", "teams", urls=[f"json://{hook.address}/"] * 2, routes=[{"channels": ["slack", "teams"]}]
    )
    warner = Warner(ledger, "main", both)
    warner.begin([warned_of(ledger)], POLICY, UTC, now_ms())
    assert len(warner.settle(now_ms(), all_of_it=True)) == 1
    assert ledger.query("select channel from notifications order by channel").rows() == [
        ("slack",),
        ("teams",),
    ]


def test_without_a_channel_it_says_so_and_nothing_is_written(ledger: Ledger) -> None:
    warner = Warner(ledger, "main", NotifyPart())
    assert [each.words for each in warner.begin([warned_of(ledger)], POLICY, UTC, now_ms())] == [
        "no channel leads to team vision, nor to the owner"
    ]
    assert warner.begin([], POLICY, UTC, now_ms()) == ()
    assert warner.settle(now_ms(), all_of_it=True) == ()
    assert ledger.query("select count(*) from notifications").item() == 0


def test_what_the_ledger_could_not_take_is_kept_and_not_sent_again(
    ledger: Ledger, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    warner = Warner(ledger, "main", to(hook))
    there = warned_of(ledger)
    warner.begin([there], POLICY, UTC, now_ms())

    def away(*_: object, **__: object) -> bool:
        raise LedgerError("the ledger is away")

    with monkeypatch.context() as outage:
        outage.setattr(ledger, "append", away)
        for _ in range(2):
            with pytest.raises(LedgerError):
                warner.settle(now_ms(), all_of_it=True)
        warner.begin([there], POLICY, UTC, now_ms())
    found = warner.settle(now_ms(), all_of_it=True)
    assert [type(each) for each in found] == [Warned]
    assert (len(hook.heard), ledger.query("select count(*) from notifications").item()) == (1, 1)
