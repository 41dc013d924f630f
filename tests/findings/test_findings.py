"""Findings: given what was told, what is noticed, and whether anybody may act on it."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from analytics.found import Found
from cli.main import app
from quartermaster import records
from quartermaster.clock import to_iso
from quartermaster.errors import InputError
from sql.ledger import open_ledger
from tests.findings.scene import IDLE_W, Scene
from tests.ledgers import lay_ledger, new_ledger
from tests.usage.small import CLUSTER, gpu, m
from tests.usage.toy import frames

IDLE = ("idle workload", "Job vision/train")


def quiet_gang() -> Scene:
    """A Job of two pods, busy for five hours and idle for 89 minutes; another Job that computes all the time."""
    scene = Scene(at=400)
    scene.workload("Job", "train", 0, 1)
    scene.workload("Job", "other", 3, team="nlp")
    for index in (0, 1):
        scene.busy(index, 0, 310)
        scene.idle(index, 311)
    scene.busy(3)
    return scene


@pytest.mark.patient
def test_an_idle_workload_beyond_doubt() -> None:
    found = quiet_gang().told()
    assert set(found) == {IDLE}
    one = found[IDLE]
    assert one.fit, one.doubts
    assert one.since_ms == m(311)  # its last busy sample spoke until then
    assert one.team == "vision"
    assert one.signals == ("gr_engine", "power")
    assert one.coverage_permille == 1000
    assert one.cost == Decimal("5.933333")  # 2 GPUs × 89 minutes × 2.00 a GPU-hour
    assert one.currency == "EUR"
    assert one.evidence["uid"] == "uid-train"
    assert [each["idle_by"] for each in devices(one)] == [["gr_engine", "power"]] * 2


def devices(found: Found) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", found.evidence["devices"])


def refused(scene: Scene, doubt: str) -> None:
    found = scene.told()
    assert set(found) == {IDLE}
    assert not found[IDLE].fit
    assert any(doubt in each for each in found[IDLE].doubts), found[IDLE].doubts


@pytest.mark.patient
def test_one_signal_alone_is_no_ground() -> None:
    scene = quiet_gang()
    scene.small.h.samples = [
        each if each.sampled_at < m(311) else replace(each, energy_j=None) for each in scene.small.h.samples
    ]
    refused(scene, "gr_engine alone shows it idle")


@pytest.mark.patient
def test_stale_samples_are_no_ground() -> None:
    scene = quiet_gang()
    last = scene.small.h.samples
    scene.small.h.samples = [
        each for each in last if each.sampled_at <= m(397) or each.series_id == last[-1].series_id
    ]
    refused(scene, "its last sample is 180 s old")


@pytest.mark.patient
def test_a_watch_that_fell_behind_is_no_ground() -> None:
    scene = quiet_gang()
    scene.heard_until = 380
    refused(scene, "who holds was told last too long ago")


@pytest.mark.patient
def test_who_borrows_is_not_known_where_the_watch_fell_behind() -> None:
    scene = lent_out()
    scene.heard_until = 380
    assert scene.told() == {}


@pytest.mark.patient
def test_sources_that_disagree_are_no_ground() -> None:
    scene = quiet_gang()
    scene.disagree("vision/1-train", 100, 370)
    refused(scene, "sources disagree")


@pytest.mark.patient
def test_a_disagreement_that_is_over_before_the_window_is_none() -> None:
    scene = quiet_gang()
    scene.disagree("vision/1-train", 100, 330)
    assert scene.told()[IDLE].fit


@pytest.mark.patient
def test_a_pool_in_which_nothing_computes_is_a_fault_of_telemetry() -> None:
    scene = Scene()
    scene.workload("Job", "train", 0, 1)
    scene.idle(0)
    scene.idle(1)
    refused(scene, "nothing at all computes in pool p")


@pytest.mark.patient
def test_a_frozen_exporter_is_unknown() -> None:
    """The collector tells a frozen exporter as a gap: what it says counts no more, so nothing is noticed."""
    scene = quiet_gang()
    scene.small.gap("telemetry", "dcgm", 200, 400)
    assert scene.told() == {}


@pytest.mark.patient
def test_a_workload_that_has_just_started_is_in_its_grace() -> None:
    scene = Scene()
    scene.workload("Job", "train", 0, 1, start=290)
    scene.workload("Job", "other", 3, team="nlp")
    for index in (0, 1):
        scene.idle(index, 290)
    scene.busy(3)
    refused(scene, "a grace of 20 min")


@pytest.mark.patient
def test_a_gang_of_which_a_pod_has_not_started_is_not_idle() -> None:
    scene = Scene()
    scene.workload("Job", "train", 0)
    scene.small.pod("1-train", 0, None, gpu(1), workload_id=100, namespace="vision", started_at=None)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0)
    scene.idle(1)
    scene.busy(3)
    assert {kind for kind, _ in scene.told()} == {"partly idle workload", "never started"}


@pytest.mark.patient
def test_a_shared_gpu_that_labels_name_is_no_ground() -> None:
    scene = Scene()
    scene.small.h.nodes = [replace(each, sharing="time-slicing", replicas=2) for each in scene.small.h.nodes]
    scene.workload("Job", "train", 0, parts=84_000, evidence="label", gpu_parts=84_000)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0)
    scene.busy(3)
    refused(scene, "named by labels alone")


@pytest.mark.patient
def test_a_sick_gpu_is_no_ground() -> None:
    scene = quiet_gang()
    scene.small.h.devices = [replace(each, healthy=each.device_index != 1) for each in scene.small.h.devices]
    refused(scene, "a GPU of it, or its node, is sick")


@pytest.mark.patient
def test_a_deployment_may_answer_requests() -> None:
    scene = Scene()
    scene.workload("Deployment", "chat", 0)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0)
    scene.busy(3)
    (one,) = scene.found()
    assert one.doubts == ("whether a Service stands in front of a Deployment is not in the ledger",)


@pytest.mark.patient
def test_without_a_price_there_is_a_finding_and_no_cost() -> None:
    (one,) = quiet_gang().found(price=None)
    assert (one.cost, one.currency) == (None, "")


@pytest.mark.patient
def test_idle_for_less_than_its_window_is_nothing() -> None:
    scene = Scene()
    scene.workload("Job", "train", 0)
    scene.workload("Job", "other", 3, team="nlp")
    scene.busy(0, 0, 310)
    scene.idle(0, 311)
    scene.busy(3)
    assert scene.told() == {}


@pytest.mark.patient
def test_a_notebook_has_a_longer_window_than_a_job() -> None:
    scene = Scene()
    scene.workload("Notebook", "alice", 0)
    scene.workload("Job", "other", 3, team="nlp")
    scene.busy(0, 0, 270)
    scene.idle(0, 271)
    scene.busy(3)
    assert scene.told() == {}  # 89 minutes: a Job's 60, but not a Notebook's 120


@pytest.mark.patient
def test_serving_is_reported_only() -> None:
    scene = Scene()
    scene.workload("InferenceService", "chat", 0)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0)
    scene.busy(3)
    (one,) = scene.found()
    assert one.subject == "InferenceService vision/chat"
    assert one.evidence["reported_only"] is True
    assert one.doubts == ()
    assert not one.fit


@pytest.mark.patient
def test_what_is_unknown_is_never_idle() -> None:
    """One of two devices says nothing for a tenth of the window: the other one alone is seen to be idle."""
    scene = Scene()
    scene.workload("Job", "train", 0, 1)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0)
    scene.idle(1, 0, 320)
    scene.idle(1, 330)
    scene.busy(3)
    found = scene.told()
    assert set(found) == {("partly idle workload", "Job vision/train")}


@pytest.mark.patient
def test_partly_idle_says_which_pods() -> None:
    scene = Scene()
    scene.workload("Job", "train", 0, 1, 2)
    scene.busy(0)
    scene.idle(1)
    scene.busy(2)
    found = scene.told()["partly idle workload", "Job vision/train"]
    assert not found.fit
    told = {each["pod"]: each["idle_by"] for each in devices(found)}
    assert told == {"vision/0-train": [], "vision/1-train": ["gr_engine", "power"], "vision/2-train": []}
    assert found.cost == Decimal(
        "2.000000"
    )  # one GPU for the hour that was looked at; no earlier one is rolled up


@pytest.mark.patient
def test_a_stalled_workload_keeps_busy_and_does_nothing() -> None:
    scene = Scene()
    scene.workload("Job", "hung", 0)
    scene.says(0, 0, 360, 900, IDLE_W, gpu_util_permille=1000, tensor_permille=0, dram_permille=0)
    found = scene.told()
    assert set(found) == {("stalled workload", "Job vision/hung")}


@pytest.mark.patient
def test_a_workspace_to_which_nobody_came_back() -> None:
    scene = Scene(at=26 * 60)
    scene.workload("Notebook", "alice", 0)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0, 20 * 60)
    scene.busy(3, 20 * 60)
    hours = [
        {
            "cluster": CLUSTER,
            "row_start_at": m(60 * hour),
            "row_end_at": m(60 * hour + 60),
            "device_id": gpu(0),
            "allocation_id": scene.small.h.allocations[0].allocation_id,
            "workload_id": 100,
            "held_pms": 168_000 * 3_600_000,
            "idle_pms": 168_000 * 3_600_000 if hour else 0,
            "computing_pms": 0 if hour else 168_000 * 3_600_000,
            "unknown_pms": 0,
        }
        for hour in range(24)
    ]
    scene.more["usage_hourly"] = hours
    (one,) = scene.found()
    assert (one.kind.value, one.since_ms) == ("forgotten workspace", m(60))
    assert one.fit, one.doubts
    assert one.cost == Decimal("50.000000")  # 25 hours


@pytest.mark.patient
def test_a_pod_that_never_started() -> None:
    scene = Scene()
    scene.workload("Job", "pulls", 0, start=300, started_at=None)
    scene.workload("Job", "late", 1, start=340, started_at=None)
    scene.workload("Job", "zzz-idle", 2)
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(2)
    scene.busy(3)
    found = scene.told()
    assert set(found) == {("never started", "Job vision/pulls"), ("idle workload", "Job vision/zzz-idle")}
    assert found["never started", "Job vision/pulls"].cost == Decimal("2.000000")


@pytest.mark.patient
def test_a_device_that_nobody_names_confirms_nothing() -> None:
    scene = Scene()
    scene.workload("Job", "train")
    scene.small.pod("train-x", 0, None, workload_id=100, namespace="vision")
    scene.workload("Job", "other", 3, team="nlp")
    scene.idle(0)
    scene.busy(3)
    assert scene.told() == {}


def waits(scene: Scene, namespace: str, start: int, gpus: int) -> None:
    scene.small.h.demand.append(
        records.Demand(
            CLUSTER,
            1,
            m(start),
            None,
            7,
            namespace,
            "p",
            gpus * 168_000,
            gpus,
            1,
            "Unschedulable",
            "kubernetes",
        )
    )


def lent_out() -> Scene:
    """Four GPUs, all promised to vision, which holds one; nlp holds three of them."""
    scene = Scene(at=400)
    scene.small.promise("vision", 4)
    scene.workload("Notebook", "mine", 0)
    scene.workload("Job", "theirs", 1, 2, 3, team="nlp")
    for index in range(4):
        scene.busy(index)
    return scene


@pytest.mark.patient
def test_a_borrower_on_anothers_guarantee() -> None:
    found = lent_out().told()
    assert set(found) == {("borrower on another's guarantee", "nlp from vision in p")}
    one = found["borrower on another's guarantee", "nlp from vision in p"]
    assert one.evidence == {"lender": "vision", "gpus": "3", "lender_waits": False}


@pytest.mark.parametrize(("since", "starves"), [(180, True), (330, False)])
@pytest.mark.patient
def test_an_owner_who_waits_for_what_is_its_own(since: int, starves: bool) -> None:
    scene = lent_out()
    waits(scene, "vision", since, 2)
    found = scene.told()
    assert (("starving owner", "vision in p") in found) == starves
    assert found["borrower on another's guarantee", "nlp from vision in p"].evidence["lender_waits"] is True


def hours_of_quota(held: float, lent: float = 0.0, guaranteed: float = 4.0) -> list[dict[str, object]]:
    """A week of a team's hours."""
    hour = 168_000 * 3_600_000
    return [
        {
            "cluster": CLUSTER,
            "row_start_at": m(360 - 60 * number),
            "row_end_at": m(420 - 60 * number),
            "team": "vision",
            "pool": "p",
            "guaranteed_pms": int(guaranteed * hour),
            "held_pms": int(held * hour),
            "within_pms": int(min(held, guaranteed) * hour),
            "lent_pms": int(lent * hour),
            "unused_pms": int(max(0.0, guaranteed - held) * hour),
            "waiting_pms": 0,
        }
        for number in range(1, 169)
    ]


@pytest.mark.parametrize(
    ("held", "lent", "kinds"),
    [
        (0.0, 0.0, {"guarantee never used"}),
        (0.0, 4.0, {"guarantee never used"}),
        (1.0, 0.0, {"idle quota"}),
        (1.0, 2.0, set[str]()),  # what is lent is not idle
        (3.0, 0.0, set[str]()),
        (4.0, 0.0, {"guarantee always used"}),
        (6.0, 0.0, {"guarantee always used"}),
    ],
)
@pytest.mark.patient
def test_how_a_guarantee_was_used_over_a_week(held: float, lent: float, kinds: set[str]) -> None:
    scene = Scene(gpus=1)
    scene.more["quota_hourly"] = hours_of_quota(held, lent)
    found = {each.kind.value for each in scene.found()}
    assert found == kinds


@pytest.mark.patient
def test_a_week_that_is_not_told_is_not_judged() -> None:
    scene = Scene(gpus=1)
    scene.more["quota_hourly"] = hours_of_quota(0.0)[:100]
    assert scene.found() == ()


@pytest.mark.patient
def test_the_command(tmp_path: Path) -> None:
    """On a ledger of its own: as of an instant it only shows; as of now it notes too."""
    scene = quiet_gang()
    with new_ledger(tmp_path / "ledger") as ledger:
        ledger.append("told/0/0", frames(scene.small.h))
        mark = records.Watermark(CLUSTER, "kubernetes", "holders", m(400))
        ledger.append("told/0/1", {"watermarks": [mark]})
    config = tmp_path / "quartermaster.yaml"
    config.write_text(f"clusters: [{{name: {CLUSTER}}}]\nteams: [{{name: nlp}}]\n", encoding="utf-8")
    asked = ["--config", str(config), "findings"]
    then = CliRunner().invoke(app, [*asked, "--at", to_iso(m(400))], catch_exceptions=False)
    assert "idle workload" in then.output
    assert "beyond doubt" in then.output
    told = json.loads(CliRunner().invoke(app, [*asked, "--at", to_iso(m(400)), "--json"]).output)
    assert [(each["kind"], each["fit"], each["since_ms"]) for each in told] == [
        ("idle workload", True, m(311))
    ]
    assert (
        CliRunner().invoke(app, [*asked, "--team", "nlp", "--at", to_iso(m(400)), "--json"]).output == "[]\n"
    )
    with open_ledger(tmp_path / "ledger", read_only=True) as ledger:
        assert not ledger.query("select * from findings_versions").height
    now = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert "Nothing is found" in now.output  # all is long ago: unknown, and not idle
    wrong = CliRunner().invoke(app, [*asked, "--cluster", "nowhere"])
    assert isinstance(wrong.exception, InputError)


@pytest.mark.patient
def test_a_ledger_in_which_nothing_is_told(tmp_path: Path) -> None:
    lay_ledger(tmp_path / "ledger")
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: c}, {name: d}]\n", encoding="utf-8")
    asked = ["--config", str(tmp_path / "quartermaster.yaml"), "findings"]
    assert "Nothing is found" in CliRunner().invoke(app, asked, catch_exceptions=False).output
