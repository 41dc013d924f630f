"""The pages: valid in every label generation, with its labels, and values that add up."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from quartermaster.clock import HOUR_MS, MINUTE_MS
from simulator.labels import GENERATIONS
from simulator.metrics import METRICS
from simulator.simulation import ClusterSimulation


def parsed(page: bytes | None) -> dict[str, list[Sample]]:
    """The page's samples by name, as prometheus_client reads them."""
    assert page is not None
    found: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.patient
def test_every_page_of_every_generation_is_valid(noon: ClusterSimulation, generation: str):
    noon.speak("*", generation)
    names = {m.old_name if GENERATIONS[generation].old_names else m.name for m in METRICS}
    for node in noon.nodes:
        found = parsed(noon.page(node, noon.clock_ms))
        assert found.keys() <= names | {f"{name}_total" for name in names}  # so the client calls counters
        assert len(found) >= 23, node


@pytest.mark.parametrize(
    ("generation", "has", "lacks"),
    [
        ("1.7", {"uuid", "pod_name", "pod_namespace", "container_name"}, {"UUID", "pod", "pci_bus_id"}),
        ("2.4", {"UUID", "Hostname", "modelName"}, {"pci_bus_id", "pod_uid"}),
        ("3.4", {"pod"}, {"pci_bus_id", "pod_uid"}),
        ("3.5", {"pci_bus_id"}, {"pod_uid"}),
        ("4.5", {"pod_uid", "Hostname"}, {"hostname"}),
        ("4.9", {"pod_uid", "hostname"}, {"Hostname"}),
        ("exported", {"exported_pod", "exported_namespace", "exported_container", "pod"}, {"pod_uid"}),
    ],
)
@pytest.mark.patient
def test_a_held_gpu_has_its_generations_labels(
    noon: ClusterSimulation, generation: str, has: set[str], lacks: set[str]
):
    noon.speak("*", generation)
    page = noon.page("l40s-0", noon.clock_ms)
    held = [
        s
        for s in parsed(page)["dcgm_gpu_temp" if generation == "1.7" else "DCGM_FI_DEV_GPU_TEMP"]
        if "search" in str(s.labels)
    ]
    assert held
    for sample in held:
        assert has <= set(sample.labels)
        assert not lacks & set(sample.labels)


@pytest.mark.parametrize(
    ("generation", "labels"), [("3.1", {"pod": "", "namespace": "", "container": ""}), ("3.5", {})]
)
def test_a_free_gpu_has_no_pod_or_a_blank_one(
    noon: ClusterSimulation, generation: str, labels: dict[str, str]
):
    fleet, occupants = noon.cluster.fleet, noon.cluster.occupants
    free = next(unit for unit in fleet.units if all(occupants[slot.index] is None for slot in unit.slots))
    gpu = fleet.gpus[free.gpu]
    noon.speak("*", generation)
    rows = parsed(noon.page(gpu.node, noon.clock_ms))["DCGM_FI_DEV_GPU_TEMP"]
    row = next(s for s in rows if s.labels["UUID"] == gpu.uuid and s.labels.get("GPU_I_ID", "") == free.gi_id)
    assert {
        name: row.labels[name] for name in ("pod", "namespace", "container") if name in row.labels
    } == labels


def test_an_xid_carries_its_text_from_3_4_on(noon: ClusterSimulation):
    for generation, there in (("3.1", False), ("3.4", True)):
        noon.speak("*", generation)
        page = noon.page("h100-0", noon.clock_ms)
        assert page is not None
        assert (b'err_code="0",err_msg="No Error"' in page) == there
        assert page.count(b"err_code") == (8 if there else 0)


def test_mig_instances_have_their_own_activity_and_their_gpus_power(noon: ClusterSimulation):
    found = parsed(noon.page("a100-0", noon.clock_ms))
    activity = {
        (s.labels["UUID"], s.labels.get("GPU_I_ID")): s for s in found["DCGM_FI_PROF_GR_ENGINE_ACTIVE"]
    }
    assert {s.labels.get("GPU_I_PROFILE") for s in activity.values()} >= {
        None,
        "1g.10gb",
        "2g.20gb",
        "3g.40gb",
    }
    assert not any("GPU_I_ID" in s.labels for s in found["DCGM_FI_DEV_GPU_UTIL"])
    power: dict[str, set[float]] = {}
    for sample in found["DCGM_FI_DEV_POWER_USAGE"]:
        power.setdefault(sample.labels["UUID"], set()).add(sample.value)
    assert len(power) == 8
    assert all(len(values) == 1 for values in power.values())


def test_a_shared_gpu_has_a_row_a_pod_and_from_4_9_on_the_pods_own_values(noon: ClusterSimulation):
    for _ in range(60):
        noon.advance(noon.clock_ms + HOUR_MS)
        pods = [noon.cluster.occupants[slot.index] for slot in noon.cluster.machines["t4-1"].machine.slots()]
        if sum(pod is not None for pod in pods) >= 3:
            break
    noon.speak("*", "4.4")
    rows = [s for s in parsed(noon.page("t4-1", noon.clock_ms))["DCGM_FI_DEV_FB_USED"] if "vgpu" in s.labels]
    assert len(rows) >= 3
    by_gpu: dict[str, set[float]] = {}
    for row in rows:
        by_gpu.setdefault(row.labels["UUID"], set()).add(row.value)
    assert all(len(values) == 1 for values in by_gpu.values()), "each pod carries the whole device's value"
    noon.speak("*", "4.9")
    later = parsed(noon.page("t4-1", noon.clock_ms))["DCGM_FI_DEV_FB_USED"]
    for uuid, values in by_gpu.items():
        device = [s.value for s in later if s.labels["UUID"] == uuid and "pod" not in s.labels]
        assert device == list(values)
        assert sum(s.value for s in later if s.labels["UUID"] == uuid and "pod" in s.labels) <= device[0]


def test_a_page_of_eight_gpus_is_as_large_as_a_real_one(noon: ClusterSimulation):
    page = noon.page("h100-0", noon.clock_ms)
    assert page is not None
    assert 55_000 < len(page) < 90_000
    assert len([line for line in page.splitlines() if not line.startswith(b"#")]) == 200


def test_values_stay_within_what_they_can_be(noon: ClusterSimulation):
    for _ in range(20):
        noon.advance(noon.clock_ms + 17 * MINUTE_MS)
        for node in noon.nodes:
            page = noon.page(node, noon.clock_ms)
            if page is None:
                continue
            for name, value in re.findall(r"^(DCGM_\w+)\{[^}]*\} (\S+)$", page.decode(), re.MULTILINE):
                number = float(value)
                assert number >= 0
                assert not name.endswith("_UTIL") or number <= 100
                assert not name.endswith("_ACTIVE") or number <= 1
                assert not name.endswith("_TEMP") or 15 < number < 100


def test_a_dead_exporter_and_a_lost_node_do_not_answer(noon: ClusterSimulation):
    faults = [f for f in noon.cluster.script.faults if f.start_ms > noon.clock_ms]
    down = {f.kind: f for f in faults if f.kind in {"exporter", "lost"}}
    assert down
    for fault in sorted(down.values(), key=lambda fault: fault.start_ms):
        assert noon.page(fault.node, fault.start_ms + 1000) is None


def test_a_gpu_that_fell_off_the_bus_is_not_on_the_page(noon: ClusterSimulation):
    before = noon.page("h100-0", noon.clock_ms)
    gpu = noon.cluster.fleet.gpus[0]
    noon.cluster.xids[0] = 79
    after = noon.page("h100-0", noon.clock_ms)
    assert before is not None
    assert after is not None
    assert gpu.uuid.encode() in before
    assert gpu.uuid.encode() not in after
