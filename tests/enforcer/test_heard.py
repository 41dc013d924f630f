"""What analysis found, as the planner hears it."""

from typing import Any

from analytics.found import Found, Kind
from analytics.judged import _device
from enforcer.heard import hear
from enforcer.idleness import Evidence, Idle, Notice
from tests.enforcer.scenes import POOL, TOLD, idle, job, made, node, proof, scene, taken

DEVICE: dict[str, Any] = {
    "device": "gpu-0",
    "known_permille": 1000,
    "idle_by": ["gr_engine", "power"],
    "active_by": [],
    "sampled_at_ms": proof().sampled_at_ms,
    "interval_ms": 30_000,
    "pod": "ns-b/b1",
}
SCENE = scene((node("n1"),), job("b1", "b", "n1", gpus=8, ran=600))


def _found(kind: Kind = Kind.idle, uid: str = "b1", *doubts: str, **device: Any) -> Found:
    evidence = {"uid": uid, "devices": [DEVICE | device]}
    since = idle("b1", 120).since_ms
    return Found("here", kind, "Job ns-b/b1", since, "b", POOL, ("power",), 1000, None, "", evidence, doubts)


def test_idle_and_forgotten_are_heard_with_their_evidence() -> None:
    told = (Notice("warn", 1),)
    for kind in (Kind.idle, Kind.forgotten):
        heard = hear([_found(kind)], ["p"], {"b1": told}, {"b1": 5})
        assert heard.idle == (Idle("b1", _found().since_ms, (proof(),), (), told, 5),)
        assert heard.computing == {"p"}


def test_other_findings_and_those_of_nobody_are_not() -> None:
    others = [_found(kind) for kind in Kind if kind not in {Kind.idle, Kind.forgotten}]
    assert hear([*others, _found(uid="")], [], {}, {}).idle == ()


def test_a_device_that_was_never_sampled_is_in_doubt() -> None:
    (found,) = hear([_found(sampled_at_ms=None, interval_ms=None)], [POOL], {}, {}).idle
    assert found.evidence == (Evidence("gpu-0", 1000, ("gr_engine", "power"), (), 0, 0),)
    assert "old" in made(SCENE, found).spared[0].reason


def test_what_analysis_doubts_stays_doubted_and_the_rest_is_judged_again() -> None:
    notices = {"b1": idle("b1", told=TOLD).notices}
    for given, expected in (
        (_found(), ["b1"]),
        (_found(Kind.idle, "b1", "somebody doubts it"), []),
        (_found(known_permille=900), []),
    ):
        assert taken(made(SCENE, *hear([given], [POOL], notices, {}).idle)) == expected


def test_it_is_the_form_in_which_analysis_tells_a_device() -> None:
    row = {
        "device": "gpu-0",
        "pod": "ns-b/b1",
        "signal": "gr_engine",
        "quiet": True,
        "window_ms": 7_200_000,
        "known_ms": 7_200_000,
        "busy_ms": 0,
        "confirmed_ms": 7_000_000,
        "sampled_ms": DEVICE["sampled_at_ms"],
        "interval_ms": 30_000,
        "since_ms": 0,
    }
    (found,) = hear([_found(**_device(row, 7_200_000))], [POOL], {}, {}).idle
    assert found.evidence == (proof(),)
