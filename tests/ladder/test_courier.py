"""The courier: nobody waits for a slow channel, and nothing is carried twice."""

import threading
import time
from collections.abc import Callable

import pytest

from enforcer.ladder.courier import Courier, Delivery
from enforcer.ladder.letter import TEAM, Letter
from enforcer.ladder.message import Message
from enforcer.ladder.rung import WARN
from tests.ladder.receivers import Webhook, notify

TEXT = Message("title", "body", "brief")


def letter(channel: str = "slack", uid: str = "w") -> Letter:
    return Letter("main", uid, WARN, channel, TEAM, TEXT)


def until(holds: Callable[[], object]) -> None:
    """Wait until it holds, for ten seconds at most."""
    give_up_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.005)


def told(deliveries: tuple[Delivery, ...]) -> list[tuple[str, str, bool, str, int]]:
    return [
        (each.letter.channel, each.letter.uid, each.accepted, each.words, each.at_ms) for each in deliveries
    ]


def test_what_came_of_each_letter() -> None:
    with Webhook() as good, Webhook(500) as bad:
        to = notify("slack", "teams", urls=[f"json://{good.address}/", f"json://{bad.address}/"])
        courier = Courier(to.channels, lambda: 7)
        courier.take([letter(), letter("teams"), letter(uid="v")])
        assert sorted(told(courier.wait())) == [
            ("slack", "v", True, "accepted", 7),
            ("slack", "w", True, "accepted", 7),
            ("teams", "w", False, "its server answered 500", 7),
        ]
        assert courier.wait() == ()
        assert len(good.heard) == 2


def test_a_letter_on_its_way_or_not_collected_yet_is_not_carried_again() -> None:
    with Webhook("hang") as slow:
        courier = Courier(notify("slack", urls=[f"json://{slow.address}/"]).channels, lambda: 0)
        courier.take([letter()])
        courier.take([letter()])
        until(lambda: slow.heard)
        courier.take([letter()])
        assert courier.collect() == ()
        slow.mood = 200
        slow.open.set()
        until(lambda: not any(thread.name == "courier slack" for thread in threading.enumerate()))
        courier.take([letter()])
        assert len(courier.wait()) == 1
        assert len(slow.heard) == 1


@pytest.mark.parametrize("mood", ["hang", "drip"])
@pytest.mark.patient
def test_a_slow_channel_delays_nobody_and_is_given_up(mood: str) -> None:
    """The slow server would take twenty seconds."""
    with Webhook(mood) as slow, Webhook() as quick:
        impatient = notify("slack", urls=[f"json://{slow.address}/"], timeout="300ms")
        patient = notify("teams", urls=[f"json://{quick.address}/"])
        courier = Courier([*impatient.channels, *patient.channels], lambda: 0)
        began = time.monotonic()
        courier.take([letter(), letter(uid="v"), letter("teams")])
        assert courier.collect() == ()
        ended = told(courier.wait())
        assert time.monotonic() - began < 15
        assert ("teams", "w", True, "accepted", 0) in ended
        assert next(each[:3] for each in ended if each[0] == "slack") == ("slack", "w", False)
        slow.open.set()


@pytest.mark.patient
def test_a_channel_that_never_lets_go_has_one_thread() -> None:
    with Webhook("drip") as slow:
        courier = Courier(notify("slack", urls=[f"json://{slow.address}/"], timeout="1s").channels, lambda: 0)
        ended: list[int] = []
        for _ in range(3):
            courier.take([letter()])
            ended.append(len(courier.wait()))
        assert ended == [1, 0, 0]  # the channel is busy with the first: the letter is written again later
        assert sum(thread.name == "courier slack" for thread in threading.enumerate()) == 1
        slow.open.set()
        until(lambda: not any(thread.name == "courier slack" for thread in threading.enumerate()))
        slow.mood = 200
        courier.take([letter()])
        assert len(courier.wait()) == 1


def test_a_url_that_is_not_there_is_said_by_its_reference() -> None:
    courier = Courier(notify("slack", urls=[""]).channels, lambda: 0)
    courier.take([letter()])
    assert told(courier.wait()) == [("slack", "w", False, "the environment variable SLACK is not set", 0)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_keeps_no_channel_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("half of it is gone")

    monkeypatch.setattr("enforcer.ladder.courier.load", broken)
    courier = Courier(notify("slack", urls=["json://127.0.0.1:9/"]).channels, lambda: 7)
    courier.take([letter(), letter(uid="v")])
    assert sorted(told(courier.wait())) == [
        ("slack", uid, False, "nobody carries it any more", 7) for uid in "vw"
    ]
    monkeypatch.undo()
    courier.take([letter()])
    assert len(courier.wait()) == 1
