"""Prices set in the middle of an hour that is rolled up already: the hour is split, and each part has its price."""

from decimal import Decimal
from pathlib import Path

import pytest

from analytics.money.charges import charge
from analytics.usage import roll_up
from quartermaster import records
from quartermaster.clock import HOUR_MS, MINUTE_MS, from_iso
from quartermaster.config.cardfile import read_card
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS
from sql import checks
from sql.declare import declare
from sql.ledger import Ledger, memory_ledger
from sql.setprices import set_prices

START = from_iso("2026-11-23T00:00:00Z")
MODEL = "NVIDIA H100"
CONFIGURATION = """
clusters: [{name: main}]
pools: [{name: training}]
teams: [{name: vision}, {name: nlp}]
team_rules: [{team: vision, namespace: v}]
guarantees: [{team: vision, pool: training, gpus: 1}, {team: nlp, pool: training, gpus: 1}]
rate_cards: [{card: "2026", prices: [{gpu_hour: "3"}]}]
"""
CARD = """
card: dearer
author: finance
prices: [{gpu_hour: "6", borrowed: "4", reserved: "0.5", lent: "0.2", preemptible: "1", cpu_hour: "0.1"}]
"""


def tell(ledger: Ledger) -> None:
    """Two GPUs; a pod of vision holds both from 00:00 to 02:00, and asks for 8 cores."""
    gpus = [device_id("main", f"G{n}") for n in range(2)]
    pod, workload, end = content_id("pod", "train"), content_id("workload", "train"), START + 2 * HOUR_MS
    ledger.append(
        "told/1/1",
        {
            "nodes_versions": [records.Node("main", "n", START, None, "training", MODEL, 2)],
            "devices_versions": [
                records.Device("main", gpu, START, None, "n", n, f"G{n}", "gpu", GPU_PARTS)
                for n, gpu in enumerate(gpus)
            ],
            "authority_versions": [records.Authority("main", 1, START, None, "kubernetes", 0)],
            "allocations_versions": [
                records.Allocation(
                    *("main", pod, START, START, end, "kubernetes", workload, "n", "v", "train"),
                    gpu_parts=2 * GPU_PARTS,
                    preemptible=False,
                    cpu_milli=8_000,
                    memory_mib=1024,
                )
            ],
            "holdings_versions": [
                records.Holding(
                    "main", content_id("holding", gpu), START, end, pod, gpu, GPU_PARTS, "kubelet"
                )
                for gpu in gpus
            ],
            "workloads_versions": [
                records.Workload("main", workload, START, None, "batch", "Job", "v", "train")
            ],
            "watermarks": [records.Watermark("main", "kubernetes", "holders", START + 4 * HOUR_MS)],
        },
    )


@pytest.mark.patient
def test_the_hour_is_split_and_each_part_has_its_price() -> None:
    """Until 01:20 2 GPUs × 4/3 h × 3.00 = 8.00. From then on 40 minutes of the pod, and 1 h 40 min till 03:00 in all:

    base            2 × 2/3 h × 6.00           =  8.00
    borrowed        1 × 2/3 h × (4.00 - 6.00)  = -1.333333     vision is promised one of the two
    CPU             8 × 2/3 h × 0.10           =  0.533333
    reserved        1 × 5/3 h × 0.50           =  0.833333     each of the teams
    lent            1 × 2/3 h × 0.20           = -0.133333     nlp's, to vision
    unallocated     2 × 1 h × 6.00             = 12.00
    """
    surroundings = Surroundings({}, Path("/nowhere"), Path.read_text)
    configuration = parse_configuration(CONFIGURATION, "q", surroundings).need()
    now_ms = START + 3 * HOUR_MS + 6 * MINUTE_MS
    with memory_ledger() as ledger:
        declare(ledger, configuration, START)
        tell(ledger)
        roll_up(ledger, now_ms)
        charge(ledger, now_ms, "UTC")
        assert {row[0] for row in ledger.query("select distinct unit_price from charges").rows()} == {
            Decimal(3)
        }
        card = read_card(CARD, "card.yaml", configuration)
        set_prices(ledger, configuration, card, START + 80 * MINUTE_MS, now_ms)
        roll_up(ledger, now_ms)
        charge(ledger, now_ms, "UTC")
        lines = ledger.query("select * from charges where account <> 'clearing'").to_dicts()
        assert list(checks.run(ledger, ("adjustments", "charge_orphans", "rule_one"))) == []
    found = {
        (
            line["kind"],
            line["team"],
            line["detail"] or line["measure"],
            f"{line['unit_price'].normalize():f}",
        ): line["amount"]
        for line in lines
    }
    assert found == {
        ("base", "vision", "gpu_hour", "3"): 8,
        ("base", "vision", "gpu_hour", "6"): 8,
        ("adjustment", "vision", "borrowed", "4"): Decimal("-1.333333"),
        ("base", "vision", "cpu_hour", "0.1"): Decimal("0.533333"),
        ("adjustment", "vision", "reserved", "0.5"): Decimal("0.833333"),
        ("adjustment", "nlp", "reserved", "0.5"): Decimal("0.833333"),
        ("adjustment", "nlp", "lent", "0.2"): Decimal("-0.133333"),
        ("unallocated", None, "gpu_hour", "6"): 12,
    }
