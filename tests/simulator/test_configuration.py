"""The configurations that the simulator writes are right, as the loader sees them."""

from pathlib import Path

import pytest

from quartermaster.clock import DAY_MS, from_iso
from quartermaster.config.load import load_configuration
from quartermaster.parts import GPU_PARTS
from simulator.configuration import of_replay, price_change_ms
from simulator.replay import Replay
from simulator.scenario import demo
from simulator.trace import Trace, TraceNode

START_MS = from_iso("2026-11-23")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("holders", ["kubernetes", "labels"])
def test_the_demos_configuration_loads(tmp_path: Path, quick: bool, holders: str):
    simulation = demo(1, START_MS, START_MS + 7 * DAY_MS, quick=quick)
    file = tmp_path / "quartermaster.yaml"
    file.write_text(simulation.configuration("http://127.0.0.1:9400", holders))
    found = load_configuration(file, {})
    (cluster,) = found.clusters
    assert (cluster.name, cluster.holders) == ("demo", holders)
    assert [target.node for target in cluster.dcgm.targets] == list(simulation.nodes)
    pools = {machine.plan.pool for machine in simulation.cluster.fleet.machines}
    assert {pool.name for pool in found.pools} == pools
    assert {promise.pool for promise in found.guarantees} == pools
    assert [card.start_at for card in found.rate_cards][1] == price_change_ms(START_MS, START_MS + 7 * DAY_MS)
    assert price_change_ms(START_MS, START_MS + 7 * DAY_MS) % DAY_MS > 0, "the price changes at midnight"


def test_promises_leave_something_spare():
    for quick in (True, False):
        cluster = demo(1, 0, DAY_MS, quick=quick).cluster
        for pool in {machine.plan.pool for machine in cluster.fleet.machines}:
            have = sum(machine.plan.gpus for machine in cluster.fleet.machines if machine.plan.pool == pool)
            promised = sum(quota.guaranteed_parts for quota in cluster.quotas(pool).values())
            assert 0 < promised <= have * GPU_PARTS


def test_a_replays_configuration_loads(tmp_path: Path):
    trace = Trace("t", [TraceNode("n0", "T4", 64, 1, 1), TraceNode("n1", "Odd, new", 8, 1, 1)], [], 0, DAY_MS)
    file = tmp_path / "quartermaster.yaml"
    file.write_text(of_replay(Replay(trace, 1, START_MS)))
    found = load_configuration(file, {})
    assert {pool.name for pool in found.pools} == {"T4", "Odd, new"}
    assert (
        sum(promise.guaranteed_parts for promise in found.guarantees if promise.pool == "T4") > 40 * GPU_PARTS
    )
