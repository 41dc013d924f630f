"""Pages of a simulated cluster in every label generation: who is said to hold a device is who does."""

from collections import defaultdict
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from collector.dcgm.understand import Understanding, samples_frame
from collector.exposition.parse import Parser
from quartermaster.clock import HOUR_MS
from simulator.labels import GENERATIONS
from simulator.scenario import demo
from simulator.simulation import ClusterSimulation

START = 1_789_999_200_000
UNFLAGGED = {"1.7", "2.4", "3.1", "3.4", "3.5"}  # they cannot tell the pods of a shared GPU apart


@pytest.fixture(scope="module")
def simulation() -> ClusterSimulation:
    """A cluster some hours into its work."""
    found = demo(1, START, START + 48 * HOUR_MS, quick=True)
    found.advance(START + 30 * HOUR_MS)
    return found


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.patient
def test_holders_are_those_of_the_truth(simulation: ClusterSimulation, generation: str) -> None:
    now = simulation.clock_ms
    truth = _held(simulation, now)
    for node in simulation.nodes:
        simulation.speak(node, generation)
        body = simulation.page(node, now)
        if body is None:
            continue
        page = Parser().parse(body)
        reading = Understanding("demo", node, "dcgm", 30_000, node=node).read(page, now)
        assert (page.bad_count, reading.foreign) == (0, False)
        assert {row.series.node for row in reading.rows} == {node}
        said = defaultdict[tuple[str, str], set[str]](set)
        for row in reading.rows:
            if row.label is not None:
                said[row.series.gpu_uuid, row.series.gi_id].add(f"{row.label.namespace}/{row.label.pod}")
        here = {
            key: pods
            for key, pods in truth.items()
            if key[0] in {row.series.gpu_uuid for row in reading.rows}
        }
        if generation in UNFLAGGED:
            assert {key: len(pods) for key, pods in said.items()} == dict.fromkeys(here, 1)
            assert all(pods <= here[key] for key, pods in said.items())
        else:
            assert said == here
        frame = samples_frame([reading])
        gpus = {row.series.gpu_uuid for row in reading.rows}
        assert frame["energy_j"].count() == frame["power_dw"].count() == len(gpus)  # a device is counted once


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.patient
def test_whole_pages_are_the_same_to_prometheus_client(
    simulation: ClusterSimulation, generation: str
) -> None:
    """But for the `_total` that it adds to a counter's name."""
    for node in simulation.nodes:
        simulation.speak(node, generation)
        body = simulation.page(node, simulation.clock_ms) or b""
        ours = [
            (s.name.removesuffix("_total"), dict(s.labels), s.value, s.timestamp_ms)
            for s in Parser().parse(body).samples()
        ]
        families = list(text_string_to_metric_families(body.decode()))
        theirs = [
            (s.name.removesuffix("_total"), s.labels, float(s.value), s.timestamp)
            for family in families
            for s in family.samples
        ]
        assert len(ours) > 40 or not body
        assert ours == theirs


def _held(simulation: ClusterSimulation, now_ms: int) -> dict[tuple[str, str], set[str]]:
    truth: Any = simulation.truth()
    devices = {record.device_id: record for record in truth["devices_versions"]}
    allocations = {record.allocation_id: record for record in truth["allocations_versions"]}
    holdings = {record.holding_id: record for record in truth["holdings_versions"]}
    held = defaultdict[tuple[str, str], set[str]](set)
    for holding in holdings.values():
        if holding.start_at <= now_ms and (holding.end_at is None or holding.end_at > now_ms):
            device, allocation = devices[holding.device_id], allocations[holding.allocation_id]
            held[device.gpu_uuid, device.gi_id].add(f"{allocation.namespace}/{allocation.pod}")
    return held
