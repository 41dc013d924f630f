"""Telemetry meets Kubernetes: devices by pages, pods' devices by labels, and what the two do not agree on."""

import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from analytics.usage import roll_up
from collector.kubernetes.instances import Instance, numbered
from collector.kubernetes.meeting import Meeting, meet, named_by_labels
from collector.kubernetes.seam import DISAGREE
from collector.kubernetes.settings import SOURCE
from quartermaster.clock import HOUR_MS
from quartermaster.ids import content_id, device_id
from quartermaster.records import Device, LabelRef, Series, Watermark
from sql.checks import run
from sql.ledger import Ledger, memory_ledger
from tests.kube.raws import G, Told, at, claim, mig, node, pod, replaced, resource_slice, with_claims

MINUTE = 60


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


def pages(ledger: Ledger, gpus: dict[str, str], first: float, last: float) -> None:
    """Samples each minute of a node's GPUs, each with the pod that its labels name ("" for none)."""
    series = [
        Series(
            "c",
            content_id(gpu),
            at(0),
            None,
            "dcgm",
            "n1",
            gpu,
            "",
            "",
            "",
            "NVIDIA H100",
            index,
            "gpu",
            "3",
            "t",
        )
        for index, gpu in enumerate(gpus)
    ]
    labels = {pod: LabelRef("c", content_id(pod), "ns", pod, "main", "", "") for pod in gpus.values() if pod}
    rows: list[dict[str, Any]] = [
        {
            "cluster": "c",
            "series_id": content_id(gpu),
            "sampled_at": at(minute * MINUTE),
            "source": "dcgm",
            "hold_ms": 150_000,
            "gr_engine_permille": 500,
            "label_ref": content_id(named) if named else None,
        }
        for gpu, named in gpus.items()
        for minute in range(int(first), int(last))
    ]
    mark = Watermark("c", "dcgm", "telemetry", at(last * MINUTE))
    told = {
        "series_versions": series,
        "label_refs": list(labels.values()),
        "samples": pl.DataFrame(rows),
    }
    ledger.append(f"pages/{first}", {**told, "watermarks": [mark]})


def holders(ledger: Ledger, told: Told, seconds: float) -> None:
    mark = Watermark("c", SOURCE, "holders", at(seconds))
    ledger.append(f"holders/{seconds}", {**told.picture.take(at(0)), "watermarks": [mark]})


@pytest.mark.patient
def test_samples_meet_the_pods_of_kubernetes(ledger: Ledger):
    told = Told(replaced(telemetry=True)).see(0, "nodes", node(gpus=2))
    told.see(1, "pods", pod("a", started=3)).see(1, "pods", pod("b", started=3))
    holders(ledger, told, 100 * MINUTE)
    pages(ledger, {"GPU-0": "b", "GPU-1": ""}, 0, 100)
    read = meet(ledger, "c", at(6000))
    assert read is not None
    assert meet(ledger, "c", at(6000)) is None, "nothing new"
    devices = ledger.query("select gpu_uuid, device_index, evidence from devices order by all").rows()
    assert devices == [("GPU-0", 0, "telemetry"), ("GPU-1", 1, "telemetry")]
    held = ledger.query("select device_id, parts, evidence from holdings").rows()
    assert held == [(device_id("c", "GPU-0"), G, "label")]
    ledger.append("later", {"watermarks": [Watermark("c", "dcgm", "telemetry", at(7300))]})
    holders(ledger, told, 7300)
    meet(ledger, "c", at(7300))
    roll_up(ledger, at(8000), "UTC")
    query = """
        select pod, sum(computing_pms) as computing, sum(held_pms) as held
        from usage_hourly join allocations using (cluster, allocation_id)
        where row_start_at = make_timestamptz(?) group by pod order by pod
    """
    hour = ledger.query(query, [at(0) * 1000]).rows()
    span = HOUR_MS - 1000
    assert hour == [("a", 0, G * span), ("b", G * span, G * span)], "a is laid on the other GPU, and unknown"
    assert [(broken.check, broken.count) for broken in run(ledger)] == []


@pytest.mark.patient
def test_a_holding_by_label_ends_with_its_allocation(ledger: Ledger):
    told = Told(replaced(telemetry=True)).see(0, "nodes", node(gpus=1)).see(1, "pods", pod("a", started=3))
    holders(ledger, told, 600)
    pages(ledger, {"GPU-0": "a"}, 0, 10)
    meet(ledger, "c", at(600))
    told.see(700, "pods", pod("a", phase="Succeeded", started=3, finished=650))
    holders(ledger, told, 1200)
    pages(ledger, {"GPU-0": "a"}, 10, 20)  # a label that lingers
    meet(ledger, "c", at(1200))
    ends = ledger.query("select epoch_ms(end_at) as e from holdings").rows()
    assert ends == [(at(650),)]


def sliced(gi_id: str, gpu: str = "GPU-0", *devices: int, profile: str = "1g.10gb") -> Instance:
    return Instance(gpu, gi_id, profile, devices)


def instances(*uuids: str, profile: str = "1g.10gb") -> list[Device]:
    devices = [mig(0, profile, f"{number}", uuid) for number, uuid in enumerate(uuids)]
    told = Told().see(0, "nodes", node(gpus=0)).see(0, "resourceslices", resource_slice(devices))
    return [each for each in told.devices() if each.kind == "mig"]


def test_an_instance_is_the_one_that_its_pod_holds_and_the_last_is_the_last():
    first, second = instances("MIG-a", "MIG-b")
    seen = [sliced("7", "GPU-0", second.device_id), sliced("9")]
    found = {each.mig_uuid: (each.gi_id, each.device_id) for each in numbered([first, second], seen)}
    assert found == {"MIG-b": ("7", second.device_id), "MIG-a": ("9", first.device_id)}


@pytest.mark.parametrize(
    "seen",
    [
        [sliced("7"), sliced("9")],
        [sliced("7", "GPU-1")],
        [sliced("7", profile="2g.20gb")],
        [],
        [sliced("7"), sliced("8"), sliced("9")],
    ],
    ids=["two of two, and no pod", "another GPU", "another profile", "none", "more than there are"],
)
def test_which_instance_is_which_is_not_guessed(seen: list[Instance]):
    assert numbered(instances("MIG-a", "MIG-b"), seen) == []


@pytest.mark.patient
def test_samples_meet_an_instance_that_dra_gave(ledger: Ledger):
    """A claim of a static MIG device: its samples come by number, are met by the pod's label, and tell computing."""
    told = Told(replaced(telemetry=True)).see(0, "nodes", node(gpus=0, labels={"nvidia.com/gpu.count": "1"}))
    cut = [mig(0, "1g.10gb", "9-0", "MIG-a"), mig(0, "1g.10gb", "9-1", "MIG-b")]
    told.see(0, "resourceslices", resource_slice(cut))
    told.see(1, "resourceclaims", claim("g", ["gpu-0-mig-9-1"], ["a"]))
    told.see(1, "pods", pod("a", gpus=0, started=3, spec=with_claims("g")))
    holders(ledger, told, 7300)
    series = [
        Series(
            "c", content_id(gi), at(0), None, "dcgm", "n1", "GPU-0", gi, "", "1g.10gb", "", 0, "mig", "3", "t"
        )
        for gi in ("11", "12")
    ]
    ref = LabelRef("c", content_id("a"), "ns", "a", "main", "", "")
    rows: list[dict[str, Any]] = [
        {
            "cluster": "c",
            "series_id": content_id(gi),
            "sampled_at": at(minute * MINUTE),
            "source": "dcgm",
            "hold_ms": 150_000,
            "gr_engine_permille": 900,
            "label_ref": content_id("a") if gi == "12" else None,
        }
        for gi in ("11", "12")
        for minute in range(1, 121)
    ]
    mark = Watermark("c", "dcgm", "telemetry", at(7300))
    samples = pl.DataFrame(rows, infer_schema_length=None)
    told_rows = {"series_versions": series, "label_refs": [ref], "samples": samples, "watermarks": [mark]}
    ledger.append("cut", told_rows)
    meet(ledger, "c", at(7300))
    assert ledger.query("select mig_uuid, gi_id from devices where kind = 'mig' order by all").rows() == [
        ("MIG-a", "11"),
        ("MIG-b", "12"),
    ]
    roll_up(ledger, at(8000), "UTC")
    query = """
        select sum(computing_pms) as computing, sum(held_pms) as held from usage_hourly
        where allocation_id is not null and row_start_at = make_timestamptz(?)
    """
    assert ledger.query(query, [at(0) * 1000]).rows() == [
        (G // 7 * (HOUR_MS - 60_000), G // 7 * (HOUR_MS - 1000))
    ]
    assert ledger.query("select count(*) as n from findings")["n"].item() == 0
    assert [(broken.check, broken.count) for broken in run(ledger)] == []


def sampled(ledger: Ledger, first: int, last: int, xids: dict[str, int]) -> None:
    """Samples each minute of eight GPUs, some with the XID that they showed last."""
    series = [
        Series(
            "c",
            content_id(f"GPU-{n}"),
            at(0),
            None,
            "dcgm",
            "n1",
            f"GPU-{n}",
            "",
            "",
            "",
            "H100",
            n,
            "gpu",
            "3",
            "t",
        )
        for n in range(8)
    ]
    rows = [
        {
            "cluster": "c",
            "series_id": content_id(f"GPU-{n}"),
            "sampled_at": at(minute * MINUTE),
            "source": "dcgm",
            "hold_ms": 150_000,
            "gr_engine_permille": 0,
            "xid": xids.get(f"GPU-{n}", 0),
        }
        for n in range(8)
        for minute in range(first, last)
    ]
    mark = Watermark("c", "dcgm", "telemetry", at(last * MINUTE))
    told = {"series_versions": series, "samples": pl.DataFrame(rows), "watermarks": [mark]}
    ledger.append(f"pages/{first}", told)


def unwell(ledger: Ledger) -> list[tuple[str, int, int | None]]:
    query = """
        select gpu_uuid, epoch_ms(start_at) as s, epoch_ms(end_at) as e
        from devices where evidence = 'telemetry' and not healthy order by all
    """
    return ledger.query(query).rows()


@pytest.mark.patient
def test_an_xid_tells_which_gpu_is_the_sick_one(ledger: Ledger):
    """Allocatable lacks one from 600 s to 4200 s: the GPU with the XID is unavailable so long, and no other."""
    told = Told(replaced(telemetry=True)).see(0, "nodes", node()).see(600, "nodes", node(allocatable=7))
    holders(ledger, told, 3000)
    sampled(ledger, 0, 50, {"GPU-2": 79, "GPU-5": 31})
    meet(ledger, "c", at(3000))
    assert unwell(ledger) == [("GPU-2", at(600), None)], "31 is an application's fault"
    told.see(4200, "nodes", node())
    holders(ledger, told, 7600)
    sampled(ledger, 50, 127, {"GPU-2": 79})
    meet(ledger, "c", at(7600))
    assert unwell(ledger) == [("GPU-2", at(600), at(4200))], (
        "well again, though the page still shows the last XID"
    )
    roll_up(ledger, at(8000), "UTC")
    query = "select sum(capacity_pms) as c, sum(unavailable_pms) as u from usage_hourly"
    assert ledger.query(query).rows() == [(8 * G * 2 * HOUR_MS, G * 3_600_000)]
    assert [(broken.check, broken.count) for broken in run(ledger)] == []


@pytest.mark.patient
def test_without_an_xid_the_last_ones_are_sick_until_one_tells(ledger: Ledger):
    told = Told(replaced(telemetry=True)).see(0, "nodes", node(allocatable=6))
    holders(ledger, told, 3600)
    sampled(ledger, 0, 20, {})
    meet(ledger, "c", at(1200))
    assert [gpu for gpu, _, _ in unwell(ledger)] == ["GPU-6", "GPU-7"]
    sampled(ledger, 20, 40, {"GPU-1": 95})
    meet(ledger, "c", at(2400))
    assert [gpu for gpu, _, _ in unwell(ledger)] == ["GPU-1", "GPU-7"]


def meeting(
    device: int, *, wanted: int = G, of: int = G, known: tuple[int, ...] = (), until: float = 60
) -> Meeting:
    return Meeting(1, device, of, at(0), at(until), "ns/p", wanted, at(0), None, known, bool(known))


@pytest.mark.parametrize(
    ("met", "parts"),
    [
        ([meeting(1)], [G]),
        ([meeting(1, wanted=2 * G), meeting(2, wanted=2 * G)], [G, G]),
        ([meeting(1, wanted=2 * G)], []),
        ([meeting(1, wanted=G // 10)], [G // 10]),
        ([meeting(1, of=G // 7, wanted=G // 7)], [G // 7]),
        ([meeting(1), meeting(2)], []),
        ([meeting(1, wanted=G // 5), meeting(2, wanted=G // 5)], [G // 10, G // 10]),
    ],
    ids=[
        "a GPU",
        "two",
        "one of two is not all",
        "a tenth",
        "an instance",
        "more than was asked",
        "two tenths",
    ],
)
def test_labels_name_what_was_asked_for(met: list[Meeting], parts: list[int]):
    holdings, findings = named_by_labels("c", met)
    assert [each.parts for each in holdings] == parts
    assert findings == []


def test_labels_that_say_otherwise_than_the_api_are_a_finding_and_name_nothing():
    holdings, (finding,) = named_by_labels("c", [meeting(2, known=(1,), until=1200)])
    assert holdings == []
    assert (finding.kind, finding.subject) == (DISAGREE, "ns/p")
    assert json.loads(finding.evidence) == {"labels": 2, "kubernetes": [1]}


def test_labels_that_are_late_for_minutes_are_no_finding():
    assert named_by_labels("c", [meeting(2, known=(1,), until=300)]) == ([], [])
