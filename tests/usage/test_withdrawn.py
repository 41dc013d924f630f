"""A cluster whose nodes were all a mistake: withdrawn after a roll-up, its usage goes; told again, it comes back."""

from dataclasses import replace

import pytest

from analytics.usage import roll_up
from quartermaster.clock import HOUR_MS
from quartermaster.records import Node, Watermark
from sql.ledger import Ledger, memory_ledger

START = 1_764_000_000_000


def _capacity_pms(ledger: Ledger) -> int:
    rows = ledger.query("select coalesce(sum(capacity_pms), 0)::bigint as pms from usage_hourly")
    return int(rows.item())


@pytest.mark.patient
def test_a_cluster_without_any_node_left_is_rolled_up_to_nothing() -> None:
    node = Node("c", "n1", START, None, "training", "H100", 2)
    passed = [
        Watermark("c", "dcgm", covers, START + 4 * HOUR_MS) for covers in ("telemetry", "holders", "quota")
    ]
    now_ms = START + 5 * HOUR_MS
    with memory_ledger() as ledger:
        ledger.append("test/1", {"nodes_versions": [node], "watermarks": passed})
        roll_up(ledger, now_ms)
        before = _capacity_pms(ledger)
        assert before > 0

        ledger.append("test/2", {"nodes_versions": [replace(node, end_at=node.start_at, revision=1)]})
        roll_up(ledger, now_ms)
        assert _capacity_pms(ledger) == 0
        assert roll_up(ledger, now_ms).rows == 0

        ledger.append("test/3", {"nodes_versions": [replace(node, revision=2)]})
        roll_up(ledger, now_ms)
        assert _capacity_pms(ledger) == before
