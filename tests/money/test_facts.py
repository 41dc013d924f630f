"""What a card asks of the ledger beside usage: who may be preempted, what was lost, requests, profiles, namespaces."""

from decimal import Decimal
from typing import Any

import pytest

from analytics.money.charges import charge
from analytics.money.pricing import OWNER
from enforcer.plan import Cause
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from tests.money.books import Books

DAY = "2026-11-23"
MIDNIGHT = f"{DAY}T00:00:00Z"


def amounts(books: Books, *names: str) -> dict[tuple[object, ...], Decimal]:
    """The lines but those of clearing, by the named columns."""
    lines = [line for line in books.lines() if line["kind"] != "clearing"]
    found = {tuple(line[name] for name in names): line["amount"] for line in lines}
    assert len(found) == len(lines), "the names do not tell the lines apart"
    return found


def variant(books: Books, measure: str, price: str) -> None:
    """Another price of the card's first line."""
    books.rate(price, measure=measure, position=0, rate_id=content_id("rate", measure))


def pod(books: Books, workload: str, start: str = MIDNIGHT, end: str | None = None, **given: Any) -> None:
    """The allocation that Books.usage gives a workload."""
    row = {
        "cluster": "demo",
        "allocation_id": content_id("pod", workload),
        "revision": 0,
        "preemptible": False,
    }
    row |= {"workload_id": content_id("workload", workload), "start_at": start, "end_at": end}
    books.add("allocations_versions", **(row | given))


def stopped(books: Books, workload: str, at: str, cause: str = OWNER, result: str = "done") -> None:
    """A stop of a workload, as the audit tells it."""
    books.name(workload, "Job", workload)
    books.rows["workloads_versions"][-1]["uid"] = f"uid-{workload}"
    intent = {"cluster": "demo", "told_at": at, "phase": "intent", "act": "stop", "cause": cause}
    books.add("deeds", **intent, object_uid=f"uid-{workload}", row_hash=f"hash-{workload}")
    books.add(
        "deeds",
        cluster="demo",
        told_at=at,
        phase="outcome",
        result=result,
        intent=f"hash-{workload}",
        cause=cause,
    )


def test_what_may_be_preempted_is_its_allocations_word(books: Books) -> None:
    books.card()
    books.rate("3")
    variant(books, "preemptible", "1")
    for workload, preemptible in (("batch", True), ("serve", False)):
        pod(books, workload, preemptible=preemptible)
        books.usage(team="vision", workload=workload)
    charge(books.fill(), 0, "UTC")
    batch, serve = content_id("workload", "batch"), content_id("workload", "serve")
    assert amounts(books, "kind", "detail", "workload_id") == {
        ("base", "", batch): 3,
        ("base", "", serve): 3,
        ("adjustment", "preemptible", batch): -2,
    }
    (line,) = [line for line in books.lines() if line["kind"] == "adjustment"]
    assert (line["unit_price"], line["rate_id"]) == (1, content_id("rate", "preemptible"))


def test_the_cause_is_the_planners_word() -> None:
    assert Cause.OWNER == OWNER


@pytest.mark.patient
def test_lost_work_is_the_last_hours_before_an_owners_return(books: Books) -> None:
    """Two hours count as lost: of three hours of 1 GPU at 3.00, the last two are credited."""
    books.card(terms={"lost": "credit", "lost_at_most_ms": 2 * 3_600_000})
    books.rate("3")
    for hour in range(3):
        books.usage(f"{DAY}T{hour:02d}:00:00Z", team="vision", workload="train")
        books.usage(f"{DAY}T{hour:02d}:00:00Z", team="vision", workload="idler")
        books.usage(f"{DAY}T{hour:02d}:00:00Z", team="vision", workload="spared")
    for workload, cause, result in (
        ("train", OWNER, "done"),
        ("idler", "it stands idle", "done"),
        ("spared", OWNER, "failed"),
    ):
        pod(books, workload, end=f"{DAY}T03:00:00Z")
        stopped(books, workload, f"{DAY}T03:00:00Z", cause, result)
    charge(books.fill(), 0, "UTC")
    lost = [line for line in books.lines() if line["detail"] == "lost" and line["kind"] == "adjustment"]
    assert [(line["workload_id"], line["amount"]) for line in lost] == [(content_id("workload", "train"), -6)]


@pytest.mark.patient
def test_a_stop_that_is_told_later_makes_the_days_before_it_due(books: Books) -> None:
    books.card(terms={"lost": "credit", "lost_at_most_ms": 24 * 3_600_000})
    books.rate("3")
    for day in (22, 23):
        books.usage(f"2026-11-{day}T23:00:00Z", team="vision", workload="train")
    pod(books, "train", "2026-11-22T00:00:00Z", "2026-11-24T00:00:00Z")
    charge(books.fill(), 0, "UTC")
    stopped(books, "train", "2026-11-23T23:30:00Z")
    charged = charge(books.fill(), 0, "UTC")
    assert charged.days == ("2026-11-22", "2026-11-23")
    assert charged.changed_days == ("2026-11-23",)  # 22 November's hour began more than a day before the stop


@pytest.mark.patient
def test_workloads_of_system_namespaces_are_shared(books: Books) -> None:
    books.card(terms={"system": "held", "system_namespaces": ["kube-*"]})
    books.rate("3")
    books.name("dcgm", "DaemonSet", "dcgm", namespace="kube-system")
    books.name("train", "Job", "train", namespace="vision")
    books.usage(team="platform", workload="dcgm")
    books.usage(team="vision", workload="train", gpus=3)
    books.usage(team="nlp", workload="serve", gpus=1)
    charge(books.fill(), 0, "UTC")
    assert amounts(books, "kind", "team", "detail") == {
        ("base", "platform", ""): 3,
        ("adjustment", "platform", "system"): -3,
        ("base", "vision", ""): 9,
        ("base", "nlp", ""): 3,
        ("shared", "vision", "system"): Decimal("2.25"),
        ("shared", "nlp", "system"): Decimal("0.75"),
    }


@pytest.mark.patient
def test_a_mig_profile_may_have_a_price_of_its_own(books: Books) -> None:
    """A 1g.10gb at 0.60 an hour is written as 4.20 for a whole GPU of them; what is whole keeps its price."""
    books.card()
    books.rate("4.20", profile_glob="1g.*")
    books.rate("3")
    device = {"cluster": "demo", "start_at": MIDNIGHT, "end_at": None, "kind": "mig", "revision": 0}
    books.add("devices_versions", **device, device_id=7, profile="1g.10gb", parts=GPU_PARTS // 7)
    books.usage(team="vision", gpus=1 / 7, device_id=7)
    books.usage(team="vision", gpus=1, device_id=1)
    charge(books.fill(), 0, "UTC")
    assert amounts(books, "unit_price") == {(Decimal("4.2"),): Decimal("0.6"), (Decimal(3),): Decimal(3)}


@pytest.mark.patient
def test_requests_are_counted_once_a_pod_for_the_time_it_held(books: Books) -> None:
    """8 GPUs, 16 cores and 256 GiB from 00:00 to 01:30: 1.5 × 16 = 24 core-hours, 1.5 × 256 = 384 GiB-hours."""
    books.card()
    books.rate("1")
    variant(books, "cpu_hour", "0.05")
    variant(books, "memory_gib_hour", "0.01")
    pod(books, "train", end=f"{DAY}T01:30:00Z", cpu_milli=16_000, memory_mib=256 * 1024)
    for device in range(8):
        books.usage(MIDNIGHT, team="vision", workload="train", device_id=device)
        books.usage(f"{DAY}T01:00:00Z", hours=0.5, team="vision", workload="train", device_id=device)
        books.usage(f"{DAY}T01:30:00Z", hours=0.5, device_id=device)
    charge(books.fill(), 0, "UTC")
    assert amounts(books, "kind", "measure", "quantity") == {
        ("base", "gpu_hour", None): 12,
        ("base", "cpu_hour", Decimal(24)): Decimal("1.2"),
        ("base", "memory_gib_hour", Decimal(384)): Decimal("3.84"),
        ("unallocated", "gpu_hour", None): 4,
    }


@pytest.mark.patient
def test_a_commitment_is_due_on_days_without_usage(books: Books) -> None:
    """3,000.00 for November: 100.00 a day, also on the day between, on which nothing was used."""
    commitment = {
        "team": "vision",
        "pool": "training",
        "cluster": "demo",
        "parts": GPU_PARTS,
        "month": "3000",
    }
    books.card(terms={"commitments": [commitment]})
    books.rate("3")
    books.usage("2026-11-23T00:00:00Z", team="vision")
    books.usage("2026-11-25T00:00:00Z", team="vision", gpus=48)
    charge(books.fill(), 0, "UTC")
    charge(books.ledger, 0, "UTC")
    fees = {
        (line["business_day"], line["amount"])
        for line in books.lines()
        if line["measure"] == "commitment" and line["kind"] == "adjustment"
    }
    assert fees == {(f"2026-11-{day}", 100) for day in (23, 24, 25)}
    covered = {
        line["business_day"]: line["amount"]
        for line in books.lines()
        if line["detail"] == "commitment" and line["measure"] == "gpu_hour" and line["kind"] == "adjustment"
    }
    assert covered == {"2026-11-23": -3, "2026-11-25": -72}, "the first 24 GPU-hours of a day"
    assert charge(books.ledger, 0, "UTC", everything=True).changed_days == ()
