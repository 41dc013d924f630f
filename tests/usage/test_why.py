# ruff: noqa: E501
"""Why: the sentence behind a number, names that are ambiguous or unknown; and the commands `rollup` and `why` themselves."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.usage import provisional, roll_up
from analytics.why import why
from quartermaster import records
from quartermaster.errors import InputError
from sql.ledger import Ledger, memory_ledger
from tests.ledgers import new_ledger
from tests.usage.histories import ORIGIN
from tests.usage.small import CLUSTER, Small, gpu, m
from tests.usage.toy import frames

NOW = ORIGIN + 3_600_000 * 2


def fill(ledger: Ledger) -> None:
    """An hour: pod a of team vision is idle for a third of it, pod b of team nlp is not started; both pods `b` have one name."""
    c = Small(3)
    c.namespaces_are_teams("vision", "nlp")
    c.pod("a", 0, 60, gpu(0), namespace="vision")
    c.pod("b", 0, 30, gpu(1), namespace="nlp", started_at=None)
    c.pod("bb", 30, 60, gpu(1), namespace="vision")
    c.h.allocations[-1] = records.Allocation(
        CLUSTER, c.h.allocations[-1].allocation_id, m(30), m(30), m(60), "kubernetes", 1, "n", "vision", "b"
    )
    c.heard(0, (0, 500), (20, 0), hold=20)
    told = frames(c.h) | {}
    ledger.append("told/0/0", told)
    watermark = records.Watermark(CLUSTER, "dcgm", "telemetry", m(65))
    ledger.append("told/0/1", {"watermarks": [watermark]})


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        fill(opened)
        roll_up(opened, NOW)
        yield opened


@pytest.mark.patient
def test_a_team(ledger: Ledger) -> None:
    found = why(ledger, "vision", "UTC")
    assert found.sentence.startswith(
        "Team vision held 1.5 GPU-h on 2025-11-24, of which 0.3 computing, 0.3 idle, 0.8 unknown (coverage 44 %)"
    )
    assert found.sentence.endswith(": pod vision/a on n/0 1.0 GPU-h, 0.3 of it idle, and 1 more row.")
    assert found.rows["held_pms"].sum() == 90 * 60_000 * 168_000


def test_a_pod_by_namespace_and_name(ledger: Ledger) -> None:
    assert "0.5 before the pod started" in why(ledger, "nlp/b", "UTC").sentence


@pytest.mark.parametrize("name", ["G1", "n/1"])
def test_a_gpu_by_uuid_or_place(ledger: Ledger, name: str) -> None:
    found = why(ledger, name, "UTC")
    assert found.sentence.startswith("GPU G1 (n/1, pool p) was held for 1.0 of its 11.0 GPU-h")


def test_a_name_that_several_have_lists_them(ledger: Ledger) -> None:
    with pytest.raises(InputError, match=r"'b' may be: pod nlp/b of c, pod vision/b of c"):
        why(ledger, "b", "UTC")


def test_an_unknown_name_gives_the_nearest(ledger: Ledger) -> None:
    with pytest.raises(InputError) as caught:
        why(ledger, "vison", "UTC")
    assert "vision" in caught.value.hint


def test_a_day_without_usage(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no usage of team vision on 2020-01-01"):
        why(ledger, "vision", "UTC", day="2020-01-01")


def test_provisional_rows_are_those_that_will_be_written(ledger: Ledger) -> None:
    found = provisional(ledger, CLUSTER, ORIGIN, m(60)).usage
    written = ledger.query("select sum(held_pms)::bigint from usage_hourly").item()
    assert found["held_pms"].sum() == written
    with pytest.raises(InputError):
        provisional(ledger, CLUSTER, ORIGIN + 1, m(60))


def test_a_cluster_that_is_not_known(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no cluster nowhere"):
        roll_up(ledger, NOW, clusters=["nowhere"])


def test_nothing_is_written_twice(ledger: Ledger) -> None:
    assert roll_up(ledger, NOW).hours == 0


@pytest.mark.patient
def test_the_commands(tmp_path: Path) -> None:
    with new_ledger(tmp_path / "ledger") as opened:
        fill(opened)
    config = tmp_path / "quartermaster.yaml"
    config.write_text(
        f"clusters:\n  - name: {CLUSTER}\n    holders: kubernetes\n    dcgm: {{targets: ['http://127.0.0.1:1/metrics']}}\n"
    )

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "cli", "--config", str(config), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    first = run("rollup", "--json")
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["clusters"][0]["new_hours"] >= 1
    again = run("rollup")
    assert "nothing new" in again.stdout
    told = run("why", "n/1")
    assert told.returncode == 0, told.stderr
    assert "was held for 1.0 of its 11.0 GPU-h" in told.stdout.replace("\n", " ")
    assert json.loads(run("why", "vision/a", "--json").stdout)["kind"] == "pod"
    lost = run("why", "nobody")
    assert lost.returncode == 2
    assert "error: there is no team, pod or GPU called 'nobody'" in lost.stderr
