"""The past as the ledger has it: what was asked for and when, gangs, machines that come and go, idleness."""

from dataclasses import replace

from enforcer.whatif.asked import Turn
from enforcer.whatif.history import History, read
from quartermaster import records
from quartermaster.parts import GPU_PARTS as G
from tests.enforcer.past import CLUSTER, Past, h


def told(past: Past, first: int = 0, last: int = 24) -> History:
    return read(past.told(), CLUSTER, h(first), h(last))


def waits(past: Past, workload_id: int, start: int, end: int | None) -> None:
    until = None if end is None else h(end)
    past.small.h.demand.append(
        records.Demand(
            CLUSTER, 7000 + start, h(start), until, workload_id, "vision", "p", 2 * G, 2, 1, "", ""
        )
    )


def test_a_pod_asks_from_when_it_waited_and_runs_as_long_as_it_ran() -> None:
    past = Past()
    past.did("train", "Job", 1, "cccc", start=5)
    waits(past, past.names["train"], 2, 5)
    history = told(past)
    train = next(each for each in history.past.asked if each.name == "train")
    assert (train.team, train.pool, train.kind, train.pods) == ("vision", "p", "Job", (G,))
    assert (train.asked_ms, train.run_ms, train.begun_ms) == (h(2), h(4) - h(0), None)
    assert max(history.waited_ms) == h(3) - h(0)


def test_one_that_never_waited_asks_when_it_was_bound() -> None:
    past = Past()
    past.did("train", "Job", 1, "cccc", start=5)
    assert [each.asked_ms for each in told(past).past.asked if each.name == "train"] == [h(5)]


def test_what_ran_already_has_its_begin_and_its_node() -> None:
    past = Past()
    past.did("train", "Job", 1, "cccc", start=5)
    history = told(past, first=7)
    train = next(each for each in history.past.asked if each.name == "train")
    assert (train.begun_ms, train.nodes, train.run_ms) == (h(5), ("n",), h(4) - h(0))
    assert history.held_pms == (17 + 2) * G * (h(1) - h(0))


def test_pods_of_one_that_needs_several_are_a_gang_and_others_are_not() -> None:
    past = Past()
    for index, length in ((1, 4), (2, 6)):
        past.did("gang", "PyTorchJob", index, "c" * length, start=5)
        past.did("alone", "Job", index + 2, "c" * length, start=5)
    gang = past.names["gang"]
    workloads = past.small.h.workloads
    workloads[:] = [replace(each, gang_minimum=2) if each.workload_id == gang else each for each in workloads]
    asked = told(past).past.asked
    assert [(each.pods, each.run_ms) for each in asked if each.name == "gang"] == [((G, G), h(6) - h(0))]
    assert [each.pods for each in asked if each.name == "alone"] == [(G,), (G,)]


def test_idle_hours_are_stretches_of_its_run_and_what_is_not_beyond_doubt_is_none() -> None:
    past = Past()
    past.did("train", "Job", 1, "ciiciaaui", start=3)
    train = next(each for each in told(past).past.asked if each.name == "train")
    hour = h(1) - h(0)
    assert [(start // hour, end // hour) for start, end in train.idle] == [(1, 3), (4, 5), (8, 9)]


def test_machines_have_their_gpus_and_turn_when_they_were_cordoned_came_or_went() -> None:
    past = Past(gpus=6)
    node = past.small.h.nodes[0]
    past.small.h.nodes = [
        replace(node, end_at=h(4)),
        replace(node, start_at=h(4), end_at=h(6), schedulable=False),
        replace(node, start_at=h(6)),
        replace(node, node="late", start_at=h(3), end_at=h(9), gpu_count=8),
    ]
    found = told(past).past
    assert [(each.node, each.gpus, each.open) for each in found.machines] == [
        ("late", 8, False),
        ("n", 6, True),
    ]
    assert found.turns == (
        Turn(h(3), "late", open=True),
        Turn(h(9), "late", open=False, gone=True),
        Turn(h(4), "n", open=False),
        Turn(h(6), "n", open=True),
    )


def test_promises_are_those_at_the_end_without_bookings() -> None:
    past = Past()
    past.small.promise("vision", 3, limit_parts=4 * G, weight=2)
    past.small.promise("vision", 1, kind="booking")
    past.small.promise("nlp", 2, end=60)
    found = [each for each in told(past).promises if each.guaranteed_parts]
    assert [(each.team, each.guaranteed_parts, each.limit_parts, each.weight) for each in found] == [
        ("vision", 3 * G, 4 * G, 2)
    ]


def test_what_never_ran_is_left_out_and_counted() -> None:
    past = Past()
    waits(past, 9999, 2, None)
    history = told(past)
    assert (history.never, history.never_parts) == (1, 2 * G)
    assert [each.name for each in history.past.asked] == ["busy"]
