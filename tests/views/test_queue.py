"""The queue: who waits, in which place, why in words, and what is held; given rows, expected rows."""

from dataclasses import replace

import pytest

from analytics.scope import ALL, Scope
from analytics.views import queue_tables as tables
from analytics.views.queue import Free, Queue, Standing, Wait, queue, why
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.views.markup import Tags
from tests.views.scene import NOON, START

SPEECH = Scope(frozenset({"speech"}))
LATER = NOON + 5 * DAY_MS  # nobody has told anything since NOON


def test_who_waits_in_which_place_and_of_which_team(scene: Ledger) -> None:
    found = queue(scene, ALL, LATER)
    assert found.at_ms == NOON, "it is as of when it was last known"
    assert [(wait.team, wait.place, wait.waiting, wait.lasting_ms(NOON)) for wait in found.now] == [
        ("vision", 1, 3, 90 * MINUTE_MS),
        ("speech", 2, 3, HOUR_MS),
        ("language", 3, 3, HOUR_MS // 2),
    ]
    assert [(wait.team, wait.lasting_ms(NOON)) for wait in found.ended] == [
        ("vision", 4 * HOUR_MS),
        ("speech", HOUR_MS // 2),
        ("unassigned", HOUR_MS // 4),
    ]


def test_a_team_sees_its_own_and_its_place_among_all(scene: Ledger) -> None:
    found = queue(scene, SPEECH, NOON)
    assert [(wait.team, wait.place, wait.waiting) for wait in found.now] == [("speech", 2, 3)]
    assert [wait.team for wait in found.ended] == ["speech"]
    assert [each.title for each in found.held] == ["PyTorchJob/speech/conformer"]
    assert "vision" not in repr(found)
    assert not any("free" in sentence for sentence in found.now[0].why[1:]), (
        "what is free is not theirs to see"
    )


@pytest.mark.parametrize("teams", [frozenset[str](), frozenset({"no such team"})])
def test_who_has_no_team_sees_nothing(scene: Ledger, teams: frozenset[str]) -> None:
    found = queue(scene, Scope(teams), NOON)
    assert (found.now, found.ended, found.held) == ((), (), ())


def test_why_in_words(scene: Ledger) -> None:
    by_team = {wait.team: wait.why for wait in queue(scene, ALL, NOON).now}
    assert by_team["vision"][:2] == (
        "Not enough is free.",
        "Team vision holds 2 of its guaranteed 1 GPUs: more is borrowed, when others leave some.",
    )
    assert by_team["speech"][1] == (
        "Team speech holds 0.5 of its guaranteed 2 GPUs: 1.5 of what it asks for is its own, the rest is borrowed."
    )
    assert by_team["language"][1] == "Team language has no guarantee here: it borrows what others leave."


WAIT = Wait("main", "p", "t", "Job", "n", "j", "u", None, 8 * GPU_PARTS, 1, START, None, 1, 1)


@pytest.mark.parametrize(
    ("standing", "free", "answer", "expected"),
    [
        (
            Standing(9 * GPU_PARTS, 0),
            None,
            "",
            "Team t holds 0 of its guaranteed 9 GPUs: what it asks for is its own.",
        ),
        (None, Free(0, 0), "", "No GPU of the pool is free."),
        (None, Free(4 * GPU_PARTS, 4 * GPU_PARTS), "", "4 GPUs of the pool are free."),
        (None, Free(6 * GPU_PARTS, 4 * GPU_PARTS), "", "6 GPUs of the pool are free, at most 4 on one node."),
        (
            None,
            Free(9 * GPU_PARTS, 4 * GPU_PARTS),
            "",
            "9 GPUs of the pool are free, but at most 4 on one node, and a pod asks for 8.",
        ),
        (None, None, "GPUs are taken for it", "The last plan: GPUs are taken for it."),
    ],
)
def test_each_reason(standing: Standing | None, free: Free | None, answer: str, expected: str) -> None:
    assert why(WAIT, "", standing, free, answer) == (expected,)


def test_figures_and_filters(scene: Ledger) -> None:
    whole = queue(scene, ALL, NOON)
    assert [(card.value, card.note) for card in tables.cards(whole)] == [
        ("13 GPUs", "by 3 workloads"),
        ("1 h 30 min", "a workload of lab, team vision"),
        ("30 min", "the median of 3 waits that ended in seven days"),
    ]
    assert tables.past(whole).rows == (("training · main", 3, "30 min", "4 h", "4 h"),)
    assert whole.teams == ("language", "speech", "unassigned", "vision")
    assert [wait.team for wait in whole.of("speech", None).now] == ["speech"]
    assert whole.of(None, "another pool").now == ()
    empty = Queue(NOON, (), (), ())
    assert [card.value for card in tables.cards(empty)] == ["0 GPUs", "–", "–"]
    assert "Nobody waits" in tables.waiting(empty, "UTC", None)


def test_people_decide_on_what_is_theirs(scene: Ledger) -> None:
    found = queue(scene, ALL, NOON)
    mine = replace(found.held[0], person_id=7)
    those = replace(found, held=(mine, *found.held[1:]))
    assert those.free_to_decide(7, Scope(frozenset())) == (mine,)
    assert those.free_to_decide(8, Scope(frozenset())) == ()
    assert [each.team for each in those.free_to_decide(8, SPEECH)] == ["speech"]
    assert len(those.free_to_decide(8, ALL)) == 3
    own = replace(found, now=(replace(WAIT, person_id=7),))
    assert "yours" in tables.waiting(own, "UTC", 7)
    assert "yours" not in tables.waiting(own, "UTC", 8)


def test_each_sees_their_own_whatever_their_teams(scene: Ledger) -> None:
    found = queue(scene, Scope(frozenset()), NOON, person=7)
    assert [each.title for each in found.held] == ["Job/vision/sweep"]
    assert queue(scene, Scope(frozenset()), NOON, person=8).held == ()


def test_hostile_names_are_only_text(hostile_scene: Ledger) -> None:
    drawn = tables.waiting(queue(hostile_scene, ALL, NOON), "UTC", None)
    assert Tags(drawn).found <= {"div", "ol", "li", "h3", "span", "p", "b"}
