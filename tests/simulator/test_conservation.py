"""What Kubernetes would tell never contradicts itself: no device held twice, every end told once."""

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any, cast

import pytest

from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Allocation, Demand, Device, Holding, Node, Workload
from quartermaster.team import UNASSIGNED, Rule, team_of
from simulator.simulation import ClusterSimulation

FOREVER = 1 << 62


def told(simulation: ClusterSimulation) -> dict[str, list[Any]]:
    return cast(dict[str, list[Any]], simulation.truth())


def last(records: list[Any], key: str) -> list[Any]:
    """The last version of each."""
    found: dict[object, Any] = {}
    for record in records:
        name = (getattr(record, key), 0 if isinstance(record, Allocation) else record.start_at)
        assert record.revision == (found[name].revision + 1 if name in found else 0)
        found[name] = record
    return list(found.values())


def over(record: Any) -> bool:
    return record.end_at == record.start_at


@pytest.mark.patient
def test_no_device_is_held_beyond_its_parts(lived: ClusterSimulation):
    devices = {device.device_id: device for device in last(told(lived)["devices_versions"], "device_id")}
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for holding in last(told(lived)["holdings_versions"], "holding_id"):
        assert isinstance(holding, Holding)
        changes[holding.device_id] += [
            (holding.start_at, holding.parts),
            (holding.end_at or FOREVER, -holding.parts),
        ]
    assert changes
    for number, steps in changes.items():
        held = 0
        for _, parts in sorted(steps):
            held += parts
            assert 0 <= held <= devices[number].parts


def test_holdings_are_their_allocations_in_time_and_parts(lived: ClusterSimulation):
    allocations = {a.allocation_id: a for a in last(told(lived)["allocations_versions"], "allocation_id")}
    parts: dict[int, int] = defaultdict(int)
    for holding in last(told(lived)["holdings_versions"], "holding_id"):
        allocation = allocations[holding.allocation_id]
        assert (holding.start_at, holding.end_at) == (allocation.start_at, allocation.end_at)
        parts[holding.allocation_id] += holding.parts
    assert parts == {number: allocation.gpu_parts for number, allocation in allocations.items()}


def test_a_pod_is_held_before_it_starts_and_each_end_has_its_evidence(lived: ClusterSimulation):
    allocations = last(told(lived)["allocations_versions"], "allocation_id")
    assert {a.end_evidence for a in allocations if a.end_at} >= {"succeeded", "failed", "deleted"}
    for allocation in allocations:
        assert isinstance(allocation, Allocation)
        assert allocation.start_at % 1000 == 0
        assert (allocation.end_at is None) == (not allocation.end_evidence)
        if allocation.started_at is not None:
            assert allocation.start_at < allocation.started_at <= (allocation.end_at or FOREVER)
    long = [a for a in allocations if a.started_at is None and (a.end_at or FOREVER) - a.start_at > HOUR_MS]
    assert long, "no image that never came"


def test_mig_instances_and_the_rest_make_whole_gpus(lived: ClusterSimulation):
    parts: dict[tuple[str, int], int] = defaultdict(int)
    kinds = set()
    for device in last(told(lived)["devices_versions"], "device_id"):
        assert isinstance(device, Device)
        if device.end_at is None:
            parts[device.gpu_uuid, 0] += device.parts
            kinds.add(device.kind)
    assert kinds == {"gpu", "mig", "uncarved"}
    assert set(parts.values()) == {GPU_PARTS}
    assert len(parts) == 44


def test_versions_of_a_node_follow_one_another(lived: ClusterSimulation):
    spans: dict[str, list[Node]] = defaultdict(list)
    for node in last(told(lived)["nodes_versions"], "node"):
        if not over(node):
            spans[node.node].append(node)
    assert any(not node.schedulable for nodes in spans.values() for node in nodes)
    for nodes in spans.values():
        ordered = sorted(nodes, key=lambda node: node.start_at)
        assert all(before.end_at == after.start_at for before, after in pairwise(ordered))
        assert ordered[-1].end_at is None


def test_nobody_waits_and_holds_with_the_same_pods(lived: ClusterSimulation):
    workloads = {w.workload_id: w for w in last(told(lived)["workloads_versions"], "workload_id")}
    demands = last(told(lived)["demand_versions"], "demand_id")
    assert demands
    for demand in demands:
        assert isinstance(demand, Demand)
        workload = workloads[demand.workload_id]
        assert isinstance(workload, Workload)
        assert workload.start_at <= demand.start_at < (demand.end_at or FOREVER)
        assert demand.gpu_parts > 0
        assert demand.reason


def test_the_rules_find_the_team_that_the_scheduler_counted(lived: ClusterSimulation):
    script = lived.cluster.script
    teams = {(plan.namespace, plan.name): plan.team or UNASSIGNED for plan in script.workloads}
    rules = [
        Rule(
            rule.team,
            namespace=rule.namespace or "*",
            label_key=rule.label[0] if rule.label else None,
            label_value=rule.label[1] if rule.label else "*",
            user=rule.user or None,
        )
        for rule in script.rules
    ]
    workloads = {w.workload_id: w for w in told(lived)["workloads_versions"]}
    seen = set()
    for allocation in last(told(lived)["allocations_versions"], "allocation_id"):
        workload = workloads[allocation.workload_id]
        found = team_of(
            rules,
            allocation.start_at,
            cluster=allocation.cluster,
            namespace=allocation.namespace,
            labels=json.loads(allocation.labels),
            user_patterns=json.loads(allocation.user_patterns),
        )
        assert found == teams[workload.namespace, workload.name]
        seen.add(found)
    assert seen >= {UNASSIGNED, "climate", "language", "vision", "search"}
