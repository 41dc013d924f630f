"""A simulated cluster whose pages are all that is known of it: what labels say, against what was so."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from analytics.usage import roll_up
from collector.batch import Batch, commit
from collector.dcgm.fetch import Failure, Fetched
from collector.holders import read_labels
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.records import Allocation, Holding
from simulator.scenario import demo
from simulator.simulation import ClusterSimulation
from sql import checks
from sql.ledger import Ledger, memory_ledger

START_MS, HOURS, STEP_MS = 1_795_996_800_000, 5, 2 * MINUTE_MS
END_MS = START_MS + HOURS * HOUR_MS


@dataclass
class Exporters:
    """The simulation's exporters, without the network."""

    simulation: ClusterSimulation
    now_ms: int = START_MS

    async def fetch(self, target: Target) -> Fetched | Failure:
        body = self.simulation.page(target.node, self.now_ms)
        return Failure("refused") if body is None else Fetched(body, "text/plain")


async def collect(ledger: Ledger, exporters: Exporters) -> None:
    made = Round("demo", STEP_MS, exporters)
    targets = [Target("demo", f"http://{node}:9400/metrics", node) for node in exporters.simulation.nodes]
    for now_ms in range(START_MS + STEP_MS, END_MS + 1, STEP_MS):
        exporters.now_ms = now_ms
        exporters.simulation.advance(now_ms)
        made.retarget(targets, now_ms)
        await asyncio.gather(*(made.visit(target, now_ms) for target in targets))
        if (now_ms - START_MS) % HOUR_MS == 0:
            commit(ledger, Batch(f"test/1/{now_ms}", now_ms, made.take(now_ms).frames))


def held_in_truth(allocations: Iterable[Allocation], holdings: Iterable[Holding]) -> dict[str, int]:
    """Part-milliseconds by pod, of the last versions, up to the end."""
    last = {a.allocation_id: a for a in sorted(allocations, key=lambda a: a.revision)}
    rows = {(h.holding_id, h.start_at): h for h in sorted(holdings, key=lambda h: h.revision)}
    held: dict[str, int] = defaultdict(int)
    for row in rows.values():
        allocation = last[row.allocation_id]
        ends = [END_MS, *(end for end in (row.end_at, allocation.end_at) if end is not None)]
        held[allocation.pod] += max(0, min(ends) - max(row.start_at, allocation.start_at)) * row.parts
    return held


@pytest.mark.patient
def test_labels_say_what_was_so_as_finely_as_pages_come() -> None:
    simulation = demo(3, START_MS, END_MS, quick=True)
    with memory_ledger() as ledger:
        asyncio.run(collect(ledger, Exporters(simulation)))
        assert read_labels(ledger, "demo", [], END_MS) is not None
        truth = simulation.truth()
        held = held_in_truth(truth["allocations_versions"], truth["holdings_versions"])  # pyright: ignore[reportArgumentType]
        rows = ledger.query(
            "select pod, any_value(gpu_parts) as parts, bool_or(nodes.sharing <> 'none') as shared, "
            "sum(holdings.parts * (coalesce(epoch_ms(holdings.end_at), ?) - epoch_ms(holdings.start_at))) "
            "from holdings join allocations using (cluster, allocation_id) join nodes using (cluster, node) "
            "group by pod",
            [END_MS],
        ).rows()
        assert len(rows) > 20
        for pod, parts, shared, labelled in rows:
            if not shared:
                assert abs(labelled - held[pod]) <= 2 * STEP_MS * parts, pod
        seen = {row[0] for row in rows}
        short = [pod for pod, pms in held.items() if pod not in seen and pms > 2 * STEP_MS * 8 * 168_000]
        assert not short, "who holds for longer than two intervals is seen"
        assert roll_up(ledger, END_MS + HOUR_MS).hours == HOURS - 1
        assert checks.run(ledger) == []
