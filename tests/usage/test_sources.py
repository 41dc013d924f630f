"""Sources: from which facts a pod's intervals were made, and who was believed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.sources import Claim, sources
from quartermaster import records
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger, memory_ledger
from tests.ledgers import new_ledger
from tests.usage.histories import ORIGIN
from tests.usage.small import CLUSTER, gpu, m

NOW = ORIGIN + 10 * 3_600_000
UTC = "2025-11-24 "


def claim(number: int, pod: str, start: int, end: int | None, **more: object) -> records.Allocation:
    told = records.Allocation(
        CLUSTER,
        number,
        m(start),
        m(start) + 5_000,
        None if end is None else m(end),
        "kubernetes",
        1,
        "n",
        "vision",
        pod,
        f"uid-{number}",
        gpu_parts=GPU_PARTS,
    )
    return replace(told, **more)  # pyright: ignore[reportArgumentType]


def fill(ledger: Ledger) -> None:
    """Pods of one node: `lost` ended unseen; `torn` lies across a change of authority; `gone` was withdrawn."""
    labels = {"source": "labels", "pod_uid": ""}
    devices = [
        records.Device(CLUSTER, gpu(index), m(-600), None, "n", index, f"G{index}", "gpu", GPU_PARTS)
        for index in range(3)
    ]
    first = claim(1, "lost", 0, None)
    ledger.append(
        "told/0/0",
        {
            "devices_versions": devices,
            "allocations_versions": [
                first,
                claim(2, "lost", 1, 58, **labels, end_evidence="no page"),
                claim(3, "torn", -30, 30, started_at=None),
                claim(4, "gone", 0, None),
                claim(5, "named", 0, 20, end_evidence="containers finished"),
            ],
            "holdings_versions": [
                records.Holding(CLUSTER, 11, m(0), None, 1, gpu(0), GPU_PARTS, "kubelet"),
                records.Holding(CLUSTER, 12, m(2), m(58), 1, gpu(1), GPU_PARTS, "label"),
                records.Holding(CLUSTER, 13, m(0), m(20), 5, gpu(2), GPU_PARTS, "label"),
            ],
            "authority_versions": [
                records.Authority(CLUSTER, 1, m(-600), None, "labels", 90),
                records.Authority(CLUSTER, 2, m(0), None, "kubernetes", 10),
            ],
            "gaps_versions": [
                records.Gap(CLUSTER, 21, m(40), m(60), "holders", "kubernetes", "", "", "collector down"),
                records.Gap(CLUSTER, 22, m(40), m(60), "telemetry", "dcgm", "t", "elsewhere", "refused"),
            ],
            "findings_versions": [
                records.Finding(
                    CLUSTER,
                    31,
                    m(2),
                    m(58),
                    "sources disagree",
                    "vision/lost",
                    json.dumps({"labels": gpu(1), "kubernetes": [gpu(0)]}),
                )
            ],
        },
        recorded_at=m(1),
    )
    ended = replace(first, end_at=m(60), end_evidence="missed", sure_end_at=m(40), revision=1)
    withdrawn = replace(claim(4, "gone", 0, 0), revision=1)
    ledger.append("told/0/1", {"allocations_versions": [ended, withdrawn]}, recorded_at=m(61))


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        fill(opened)
        yield opened


def claims(ledger: Ledger, pod: str) -> tuple[Claim, ...]:
    return sources(ledger, pod, "UTC", NOW)[1]


def test_a_claim_that_ended_unseen(ledger: Ledger) -> None:
    found, theirs = claims(ledger, "lost")
    assert found.sentence == (
        f"Pod vision/lost held 1 GPU of n from {UTC}16:00:00 (bound) to {UTC}17:00:00 (missed); kubernetes told it in"
        f" 2 versions; estimated from {UTC}16:40:00 on; the kubelet named n/0; kubernetes is believed (rank 10)."
    )
    assert [
        (each.revision, each.recorded_ms, each.source, each.evidence, each.in_force)
        for each in found.tellings
    ] == [(0, m(1), "kubernetes", "", False), (1, m(61), "kubernetes", "missed", True)]
    assert [(each.bound_ms, each.started_ms, each.ended_ms) for each in found.tellings] == [
        (m(0), m(0) + 5_000, None),
        (m(0), m(0) + 5_000, m(60)),
    ]
    assert [(each.place, each.evidence, each.counts) for each in found.devices] == [
        ("n/0", "kubelet", True),
        ("n/1", "label", False),  # what the kubelet says goes before
    ]
    assert [(gap.covers, gap.reason) for gap in found.gaps] == [("holders", "collector down")]
    assert [(each.labels_say, each.start_ms) for each in found.disagreements] == [("n/1", m(2))]
    assert "kubernetes is believed then, so it is kept and counts nowhere" in theirs.sentence


def test_a_claim_on_both_sides_of_a_change_of_authority(ledger: Ledger) -> None:
    (found,) = claims(ledger, "vision/torn")
    assert [(each.source, each.start_ms, each.end_ms) for each in found.believed] == [
        ("labels", m(-30), m(0)),
        ("kubernetes", m(0), m(30)),
    ]
    assert f"only while kubernetes is believed: {UTC}16:00:00 to {UTC}16:30:00" in found.sentence
    assert "its containers never started" in found.sentence
    assert "nobody named its devices" in found.sentence


def test_labels_name_devices_where_nobody_better_does(ledger: Ledger) -> None:
    (found,) = claims(ledger, "named")
    assert [(each.place, each.counts) for each in found.devices] == [("n/2", True)]
    assert "the exporter's labels named n/2" in found.sentence
    assert "estimated" not in found.sentence


def test_a_claim_that_goes_on(ledger: Ledger) -> None:
    with memory_ledger() as other:
        other.append("told/0/0", {"allocations_versions": [claim(1, "on", 0, None)]}, recorded_at=m(1))
        (found,) = claims(other, "on")
    assert "and still does" in found.sentence
    assert "estimated" not in found.sentence
    assert "nobody is believed about holders then, so it counts nowhere" in found.sentence


def test_one_day_alone(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no claim of pod vision/lost of c on 2025-11-20"):
        sources(ledger, "lost", "UTC", NOW, day="2025-11-20")
    assert len(sources(ledger, "lost", "UTC", NOW, day="2025-11-24")[1]) == 2


def test_a_name_that_no_pod_has(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no pod called 'n/0'"):
        sources(ledger, "n/0", "UTC", NOW)


def test_a_withdrawn_claim_is_told_beside_the_others() -> None:
    with memory_ledger() as other:
        told = [claim(1, "p", 0, 9), claim(2, "p", 10, None), replace(claim(2, "p", 10, 10), revision=1)]
        other.append("told/0/0", {"allocations_versions": told}, recorded_at=m(11))
        kept, gone = claims(other, "p")
    assert kept.tellings[0].in_force
    assert [(each.in_force, each.withdraws) for each in gone.tellings] == [(False, False), (False, True)]
    assert gone.sentence.startswith(
        "A claim of pod vision/p of c was withdrawn: kubernetes told it in 2 versions"
    )


@pytest.mark.patient
def test_the_command(tmp_path: Path) -> None:
    with new_ledger(tmp_path / "ledger") as opened:
        fill(opened)
    config = tmp_path / "quartermaster.yaml"
    config.write_text(f"clusters: [{{name: {CLUSTER}}}]\n", encoding="utf-8")

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "cli", "--config", str(config), "why", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    told = run("lost", "--sources")
    assert told.returncode == 0, told.stderr
    for word in ("missed", "Devices (* counts)", "Believed", "collector down", "say n/1"):
        assert word in told.stdout
    value = json.loads(run("lost", "--sources", "--json").stdout)
    assert [len(each["tellings"]) for each in value["claims"]] == [2, 1]
    wrong = run("n/0", "--sources", "--kind", "gpu")
    assert wrong.returncode == 2
    assert "--sources tells of a pod" in wrong.stderr
