"""When an allocation begins and ends, by the API's own times: each trap of the API a named case."""

from typing import Any

import pytest

from collector.kubernetes import allocations
from tests.kube.raws import Told, at, iso, node, pod

STATUS_AT = {"manager": "kubelet", "subresource": "status"}


def told_of(*events: tuple[float, str, dict[str, Any]]) -> Told:
    told = Told().see(0, "nodes", node())
    for seconds, how, raw in events:
        told.see(seconds, "pods", raw, how)
    return told


CASES: dict[str, tuple[list[tuple[float, str, dict[str, Any]]], float, float | None, str]] = {
    "held from the binding, though the image still comes": ([(2, "ADDED", pod(bound=1))], 1, None, ""),
    "the last container's end, not the first's": (
        [
            (
                60,
                "MODIFIED",
                pod(
                    phase="Succeeded",
                    status={
                        "containerStatuses": [
                            {"name": "a", "state": {"terminated": {"finishedAt": iso(30)}}},
                            {"name": "b", "state": {"terminated": {"finishedAt": iso(50)}}},
                        ]
                    },
                ),
            )
        ],
        1,
        50,
        allocations.FINISHED,
    ),
    "one of two containers ended: nothing is freed": (
        [
            (
                60,
                "MODIFIED",
                pod(
                    status={
                        "containerStatuses": [
                            {"name": "a", "state": {"terminated": {"finishedAt": iso(30)}}},
                            {"name": "b", "state": {"running": {"startedAt": iso(3)}}},
                        ]
                    }
                ),
            )
        ],
        1,
        None,
        "",
    ),
    "gone while one of two containers runs: the other's end is not the pod's": (
        [
            (
                60.5,
                "DELETED",
                pod(
                    status={
                        "containerStatuses": [
                            {"name": "a", "state": {"terminated": {"finishedAt": iso(30)}}},
                            {"name": "b", "state": {"running": {"startedAt": iso(3)}}},
                        ]
                    }
                ),
            )
        ],
        1,
        60.5,
        allocations.DELETED,
    ),
    "the binding, not when the kubelet saw it": (
        [(9, "ADDED", pod(status={"startTime": iso(7)}))],
        1,
        None,
        "",
    ),
    "a container that crashes and waits for its restart holds": (
        [
            (
                60,
                "MODIFIED",
                pod(
                    status={
                        "containerStatuses": [
                            {
                                "name": "a",
                                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                                "lastState": {"terminated": {"startedAt": iso(5), "finishedAt": iso(30)}},
                            }
                        ]
                    }
                ),
            )
        ],
        1,
        None,
        "",
    ),
    "being deleted holds on: its deletionTimestamp is a deadline": (
        [
            (5, "ADDED", pod(started=2)),
            (10, "MODIFIED", pod(started=2, deletionTimestamp=iso(40), deletionGracePeriodSeconds=30)),
        ],
        1,
        None,
        "",
    ),
    "deleted gracefully: the end is in its status": (
        [
            (5, "ADDED", pod(started=2)),
            (10, "MODIFIED", pod(started=2, deletionTimestamp=iso(40), deletionGracePeriodSeconds=30)),
            (14.2, "MODIFIED", pod(phase="Failed", started=2, finished=13, deletionTimestamp=iso(40))),
            (14.3, "DELETED", pod(phase="Failed", started=2, finished=13, deletionTimestamp=iso(10))),
        ],
        1,
        13,
        allocations.FINISHED,
    ),
    "a terminal phase frees at once, though the object stays for long": (
        [(20, "MODIFIED", pod(phase="Succeeded", started=2, finished=19, deletionTimestamp=iso(500)))],
        1,
        19,
        allocations.FINISHED,
    ),
    "force-deleted: nothing tells the end but its going": (
        [
            (5, "ADDED", pod(started=2)),
            (10.25, "DELETED", pod(started=2, deletionTimestamp=iso(10), deletionGracePeriodSeconds=0)),
        ],
        1,
        10.25,
        allocations.DELETED,
    ),
    "ended without container states: when the status was written": (
        [
            (
                500,
                "ADDED",
                pod(
                    phase="Failed",
                    status={"containerStatuses": []},
                    managedFields=[{**STATUS_AT, "time": iso(90)}, {"manager": "kubectl", "time": iso(99)}],
                ),
            )
        ],
        1,
        90,
        allocations.STATUS,
    ),
    "ended and nothing tells when: at the latest when it was seen": (
        [(500.5, "MODIFIED", pod(phase="Failed", status={"containerStatuses": []}))],
        1,
        500.5,
        allocations.PHASE,
    ),
    "its phase first, and when its containers ended only then": (
        [
            (20.5, "MODIFIED", pod(phase="Failed", started=2)),
            (22, "MODIFIED", pod(phase="Failed", started=2, finished=19)),
        ],
        1,
        19,
        allocations.FINISHED,
    ),
    "created with its node's name: no binding, so the kubelet's start": (
        [(9, "ADDED", pod(status={"conditions": [], "startTime": iso(4)}))],
        4,
        None,
        "",
    ),
    "created with its node's name and never seen by a kubelet: its creation": (
        [(9, "ADDED", pod(status={"conditions": []}, phase="Pending"))],
        0,
        None,
        "",
    ),
    "a node's clock an hour ahead is no evidence": (
        [
            (5, "ADDED", pod(started=2)),
            (60, "MODIFIED", pod(phase="Succeeded", finished=3660, started=3602)),
        ],
        1,
        60,
        allocations.PHASE,
    ),
    "a node's clock behind the binding is no evidence": (
        [(60, "MODIFIED", pod(bound=50, phase="Succeeded", finished=10, started=2))],
        50,
        60,
        allocations.PHASE,
    ),
    "absurd times are no times": (
        [
            (5, "ADDED", pod(started=2)),
            (
                60,
                "DELETED",
                pod(status={"containerStatuses": [{"state": {"terminated": {"finishedAt": "9999-99-99"}}}]}),
            ),
        ],
        1,
        60,
        allocations.DELETED,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_interval(case: str):
    events, start, end, evidence = CASES[case]
    found = told_of(*events).allocation()
    assert found.start_at == at(start)
    assert found.end_at == (None if end is None else at(end))
    assert found.end_evidence == evidence
    assert found.sure_end_at == found.end_at, "nothing here is estimated"


def test_pods_that_hold_nothing():
    told = told_of(
        (1, "ADDED", pod("waits", bound=None)),
        (2, "ADDED", pod("nominated", bound=None, status={"nominatedNodeName": "n1"})),
        (3, "ADDED", pod("no-gpu", 0)),
        (4, "ADDED", pod("reserves", namespace="kai-resource-reservation")),
        (5, "DELETED", pod("never-bound", bound=None)),
    )
    assert told.allocations() == []


def test_held_and_not_started_until_the_image_is_there():
    stuck = pod(
        status={
            "phase": "Pending",
            "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
        }
    )
    told = told_of((5, "ADDED", stuck))
    assert told.allocation().started_at is None
    assert told.see(90, "pods", pod(started=80)).allocation().started_at == at(80)


def test_the_first_start_counts_whatever_restarts_follow():
    told = told_of((5, "ADDED", pod(started=3))).take()
    assert told.see(90, "pods", pod(started=80)).allocation().started_at == at(3)


def test_a_pod_of_a_lost_node_is_sure_until_the_node_was_heard_of_last():
    told = told_of((5, "ADDED", pod(started=2)))
    told.see(100, "nodes", node(ready="Unknown", ready_at=60))
    told.see(400, "pods", pod(started=2, deletionTimestamp=iso(430)))
    assert told.allocation().end_at is None, "stuck in Running, it holds on"
    told.gone(450, "pods", pod(started=2, deletionTimestamp=iso(430)))
    found = told.allocation()
    assert (found.end_at, found.sure_end_at) == (at(450), at(60))


def test_a_pod_that_the_collector_of_pods_ends_after_its_node_left():
    told = told_of((5, "ADDED", pod(started=2)))
    told.gone(100, "nodes", node())
    collected = pod(
        phase="Failed",
        status={"containerStatuses": [{"name": "main", "state": {"running": {"startedAt": iso(2)}}}]},
        managedFields=[{**STATUS_AT, "time": iso(182)}],
    )
    told.see(182.4, "pods", collected).gone(182.5, "pods", collected)
    found = told.allocation()
    assert (found.end_at, found.sure_end_at) == (at(182), at(100))
    assert found.end_evidence == allocations.STATUS


def test_an_end_that_nobody_saw_is_bounded_and_estimated():
    told = told_of((5, "ADDED", pod(started=2)), (90, "BOOKMARK", {}))
    told.listing(700, "pods")
    found = told.allocation()
    assert (found.sure_end_at, found.end_at) == (at(90), at(700))
    assert found.end_evidence == allocations.MISSED


def test_its_job_bounds_an_end_that_nobody_saw():
    owner = ("batch/v1", "Job", "train", "uid-job")
    job = {
        "metadata": {"name": "train", "namespace": "ns", "uid": "uid-job"},
        "spec": {"template": {"spec": pod()["spec"]}},
        "status": {"completionTime": iso(300), "succeeded": 1},
    }
    told = told_of((5, "ADDED", pod(started=2, owner=owner)), (90, "BOOKMARK", {}))
    told.listing(700, "jobs", job).listing(700, "pods")
    found = told.allocation()
    assert (found.sure_end_at, found.end_at, found.end_evidence) == (at(90), at(300), allocations.JOB_ENDED)


def test_an_event_of_its_killing_bounds_an_end_that_nobody_saw():
    killing = {
        "metadata": {"uid": "e1"},
        "involvedObject": {"kind": "Pod", "uid": "uid-p"},
        "reason": "Killing",
        "firstTimestamp": iso(200),
    }
    told = told_of((5, "ADDED", pod(started=2)), (90, "BOOKMARK", {}))
    told.see(700, "events", killing).listing(700, "pods")
    assert told.allocation().end_at == at(200)
    assert told.allocation().end_evidence == allocations.KILLED


def test_pods_that_a_full_list_still_has_go_on():
    told = told_of((5, "ADDED", pod("a")), (5, "ADDED", pod("b")))
    told.listing(700, "pods", pod("a"), pod("b", phase="Succeeded", finished=650))
    assert [each.end_at for each in told.allocations()] == [None, at(650)]


def test_who_finished_while_nobody_watched_has_its_own_end():
    told = (
        Told()
        .listing(0, "nodes", node())
        .listing(600, "pods", pod(phase="Succeeded", started=2, finished=30))
    )
    assert (told.allocation().start_at, told.allocation().end_at) == (at(1), at(30))


def test_a_ten_second_pod_between_two_takes_is_ten_seconds():
    told = told_of().take(1)
    told.see(5, "pods", pod(bound=5, started=6), "ADDED")
    told.gone(16, "pods", pod(bound=5, started=6, phase="Succeeded", finished=15))
    found = told.allocation()
    assert found.end_at is not None
    assert found.end_at - found.start_at == 10_000


def test_a_stream_applied_twice_tells_the_same():
    events = [(5, "ADDED", pod(started=2)), (60, "MODIFIED", pod(phase="Failed", started=2, finished=50))]
    once = told_of(*events).take().rows
    again = told_of(*events, *events).take().rows
    assert once == again
