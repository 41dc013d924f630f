"""A pod of ten seconds, from what the API server sends to the line of its cost: ten seconds are billed, no more."""

from decimal import Decimal
from pathlib import Path

import pytest

from analytics.money.charges import charge
from analytics.usage import roll_up
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings
from sql.declare import declare
from sql.ledger import memory_ledger
from tests.kube.raws import G, Told, at, node, pod, replaced
from tests.kube.replaying import into_ledger

CONFIGURATION = """
clusters: [{name: c, holders: kubernetes, kubernetes: {}}]
teams: [{name: vision}]
team_rules: [{team: vision, namespace: "ns"}]
rate_cards: [{card: "2026", from: 2026-01-01T00:00:00Z, prices: [{gpu_hour: "3.60"}]}]
"""


@pytest.mark.patient
def test_a_ten_second_pod_is_billed_ten_seconds():
    read = parse_configuration(
        CONFIGURATION, "q.yaml", Surroundings({}, Path("/nowhere"), Path.read_text)
    ).need()
    told = Told(replaced(telemetry=False)).see(0, "nodes", node(gpus=2)).take(1)
    told.see(31, "pods", pod(bound=31, started=33), "ADDED")
    told.see(41.7, "pods", pod(bound=31, started=33, phase="Succeeded", finished=41)).take(60)
    with memory_ledger() as ledger:
        declare(ledger, read, at(0))
        into_ledger(ledger, "c", told.rows, at(8000))
        roll_up(ledger, at(8000), "UTC")
        charge(ledger, at(8000), "UTC")
        held = ledger.query("select sum(held_pms) as held, sum(not_started_pms) as waited from usage_hourly")
        assert held.rows() == [(G * 10_000, G * 2_000)]
        lines = ledger.query(
            "select quantity_pms, amount from charges where team = 'vision' and kind = 'base'"
        )
        assert lines.rows() == [(Decimal(G * 10_000), Decimal("0.010000"))]
