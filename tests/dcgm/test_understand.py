# ruff: noqa: E501  (tables of lines)
"""Every label generation and every quirk of dcgm-exporter, each a row of one table: the page, and what it says."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.dcgm.metrics import SIGNALS
from collector.dcgm.understand import Reading, Understanding, samples_frame
from collector.exposition.parse import Parser

NOW = 1_700_000_000_000
NEW = 'gpu="0",UUID="GPU-a",pci_bus_id="00000000:1A:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n7"'
POD = 'container="main",namespace="vision",pod="train-0"'
BLANKS = {
    "int32": range(0x7FFFFFF0, 0x7FFFFFF4),
    "int64": range(9223372036854775792, 9223372036854775796),
    "double": range(140737488355328, 140737488355332),
}
UTIL, ENGINE, POWER = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_POWER_USAGE"
ENERGY, MEMORY, XID = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_XID_ERRORS"


@dataclass(frozen=True)
class Said:
    """What a page is expected to say of one series: (gi_id, vgpu), its known columns, the pod, and other fields of its Series."""

    key: tuple[str, str] = ("", "")
    pod: str | None = None  # "namespace/pod/container"
    fields: dict[str, object] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)


def case(name: str, lines: Sequence[str], *said: Said) -> object:
    """A row of the table."""
    return pytest.param(lines, said, id=name)


CASES = [
    case(
        "a whole GPU, labels up to 2.4.1, free",
        [f'{UTIL}{{gpu="3",UUID="GPU-a",device="nvidia3",modelName="Tesla T4",Hostname="n7"}} 97'],
        Said(
            fields={"node": "n7", "gpu_uuid": "GPU-a", "model": "Tesla T4", "device_index": 3, "kind": "gpu", "profile": "", "label_generation": "plain"},
            known={"gpu_util_permille": 970},
        ),
    ),
    case(
        "every signal in the ledger's units",
        [
            f"{ENGINE}{{{NEW}}} 0.953211", f"{UTIL}{{{NEW}}} 97", f"DCGM_FI_PROF_SM_ACTIVE{{{NEW}}} 0.5", f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{{NEW}}} 0.0006",
            f"DCGM_FI_PROF_DRAM_ACTIVE{{{NEW}}} 1", f"DCGM_FI_DEV_MEM_COPY_UTIL{{{NEW}}} 12", f"{POWER}{{{NEW}}} 312.449", f"{ENERGY}{{{NEW}}} 1234567999",
            f"DCGM_FI_DEV_GPU_TEMP{{{NEW}}} 41", f"DCGM_FI_DEV_MEMORY_TEMP{{{NEW}}} 52", f"DCGM_FI_DEV_SM_CLOCK{{{NEW}}} 1980",
            f"DCGM_FI_DEV_MEM_CLOCK{{{NEW}}} 2619", f"{MEMORY}{{{NEW}}} 15866", f"{XID}{{{NEW}}} 0",
        ],
        Said(
            fields={"label_generation": "pci"},
            known={
                "gr_engine_permille": 953, "gpu_util_permille": 970, "sm_permille": 500, "tensor_permille": 1, "dram_permille": 1000,
                "mem_copy_permille": 120, "power_dw": 3124, "energy_j": 1234567, "gpu_temp_c": 41, "memory_temp_c": 52, "sm_clock_mhz": 1980,
                "memory_clock_mhz": 2619, "fb_used_mib": 15866, "xid": 0,
            },
        ),
    ),
    case("missing fields are null, never 0", [f"{ENGINE}{{{NEW}}} 0"], Said(known={"gr_engine_permille": 0})),
    case("a pod", [f"{UTIL}{{{NEW},{POD}}} 1"], Said(pod="vision/train-0/main", known={"gpu_util_permille": 10})),
    case(
        "a pod with its uid (4.5.0)",
        [f'{UTIL}{{{NEW},{POD},pod_uid="u-1"}} 1'],
        Said(pod="vision/train-0/main/u-1", known={"gpu_util_permille": 10}),
    ),
    case("empty pod labels (up to 3.1) name nobody", [f'{UTIL}{{{NEW},container="",namespace="",pod=""}} 1'], Said(known={"gpu_util_permille": 10})),
    case("a Slurm job (hpc_job)", [f'{UTIL}{{{NEW},hpc_job="4711"}} 1'], Said(pod="///job 4711", known={"gpu_util_permille": 10})),
    case(
        "hostname instead of Hostname (after 4.8.2)",
        ['DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",pci_bus_id="1",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",hostname="n7"} 1'],
        Said(fields={"node": "n7", "label_generation": "lower"}, known={"gpu_util_permille": 10}),
    ),
    case(
        "no host at all: the target's node",
        ['DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a"} 1'],
        Said(fields={"node": "n-configured", "model": ""}, known={"gpu_util_permille": 10}),
    ),
    case(
        "the old namespace",
        [
            'dcgm_gpu_utilization{gpu="1",uuid="GPU-a",pod_name="train-0",pod_namespace="vision",container_name="main"} 55',
            'dcgm_power_usage{gpu="1",uuid="GPU-a",pod_name="train-0",pod_namespace="vision",container_name="main"} 70.26',
            'dcgm_fi_prof_gr_engine_active{gpu="1",uuid="GPU-a",pod_name="train-0",pod_namespace="vision",container_name="main"} 0.55',
        ],
        Said(
            pod="vision/train-0/main",
            fields={"label_generation": "old", "device_index": 1},
            known={"gpu_util_permille": 550, "power_dw": 703, "gr_engine_permille": 550},
        ),
    ),
    case(
        "exported_ labels win over the exporter's own pod",
        [f'{UTIL}{{{NEW},pod="dcgm-x7k",namespace="gpu-operator",container="exp",exported_pod="train-0",exported_namespace="vision",exported_container="main"}} 1'],
        Said(pod="vision/train-0/main", known={"gpu_util_permille": 10}),
    ),
    case(
        "on a page with exported_ labels, a plain pod on a free GPU is the exporter's own",
        [
            f'{UTIL}{{{NEW},pod="dcgm-x7k",namespace="gpu-operator",exported_pod="train-0",exported_namespace="vision",exported_container="main"}} 1',
            'DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",Hostname="n7",pod="dcgm-x7k",namespace="gpu-operator"} 0',
        ],
        Said(pod="vision/train-0/main", known={"gpu_util_permille": 10}),
        Said(fields={"gpu_uuid": "GPU-b"}, known={"gpu_util_permille": 0}),
    ),
    case(
        "honoured labels: the exporter's container on a free GPU holds nothing",
        [f'{UTIL}{{{NEW},pod="dcgm-x7k",namespace="gpu-operator",container="nvidia-dcgm-exporter"}} 0'],
        Said(known={"gpu_util_permille": 0}),
    ),
    case(
        "a free node behind a Prometheus: the exporter's own pod, whatever its container is called, holds nothing",
        [f'{UTIL}{{{NEW},container="exporter",namespace="gpu-monitoring",pod="dcgm-exporter-x7k2p"}} 0'],
        Said(known={"gpu_util_permille": 0}),
    ),
    case(
        "MIG: instances are series, the GPU's own values its own",
        [
            f'{ENGINE}{{{NEW},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",{POD}}} 0.25', f'{ENGINE}{{{NEW},GPU_I_PROFILE="2g.20gb",GPU_I_ID="3"}} 0',
            f'{POWER}{{{NEW},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",{POD}}} 300', f'{POWER}{{{NEW},GPU_I_PROFILE="2g.20gb",GPU_I_ID="3"}} 300',
            f'{MEMORY}{{{NEW},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",{POD}}} 900',
        ],
        Said(("7", ""), "vision/train-0/main", {"kind": "mig", "profile": "1g.10gb"}, {"gr_engine_permille": 250, "fb_used_mib": 900}),
        Said(("3", ""), None, {"kind": "mig", "profile": "2g.20gb"}, {"gr_engine_permille": 0}),
        Said(("", ""), None, {"kind": "gpu", "profile": ""}, {"power_dw": 3000}),
    ),
    case(
        "MIG: GPU_UTIL is 0 or absent and says nothing",
        [f'{UTIL}{{{NEW},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"}} 0', f'{ENGINE}{{{NEW},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"}} 0.9', f"{UTIL}{{{NEW}}} 0"],
        Said(("7", ""), known={"gr_engine_permille": 900}),
    ),
    case(
        "MIG without FB_USED: null",
        [f'{ENGINE}{{{NEW},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"}} 0.9'],
        Said(("7", ""), fields={"device_index": 0}, known={"gr_engine_permille": 900}),
    ),
    case(
        "time-slicing without the flag: one pod gets everything",
        [f"{UTIL}{{{NEW},{POD}}} 80", f"{MEMORY}{{{NEW},{POD}}} 15866"],
        Said(pod="vision/train-0/main", known={"gpu_util_permille": 800, "fb_used_mib": 15866}),
    ),
    case(
        "time-slicing with the flag: every pod has the device's activity, the device its power once",
        [
            f'{ENGINE}{{{NEW},{POD},vgpu="0"}} 0.5', f'{ENGINE}{{{NEW},namespace="nlp",pod="nb-2",container="c",vgpu="1"}} 0.5',
            f'{POWER}{{{NEW},{POD},vgpu="0"}} 200', f'{POWER}{{{NEW},namespace="nlp",pod="nb-2",container="c",vgpu="1"}} 200',
        ],
        Said(("", "0"), "vision/train-0/main", known={"gr_engine_permille": 500}),
        Said(("", "1"), "nlp/nb-2/c", known={"gr_engine_permille": 500}),
        Said(("", ""), None, known={"power_dw": 2000}),
    ),
    case(
        "4.8.2 with the flag: a pod's 0 without a process is no value beside the device's row",
        [
            f"{UTIL}{{{NEW}}} 80", f'{UTIL}{{{NEW},{POD},vgpu="0"}} 80', f'{UTIL}{{{NEW},namespace="nlp",pod="nb-2",container="c",vgpu="1"}} 0',
            f"{MEMORY}{{{NEW}}} 900", f'{MEMORY}{{{NEW},{POD},vgpu="0"}} 900', f'{MEMORY}{{{NEW},namespace="nlp",pod="nb-2",container="c",vgpu="1"}} 0',
        ],
        Said(("", ""), None, known={"gpu_util_permille": 800, "fb_used_mib": 900}),
        Said(("", "0"), "vision/train-0/main", known={"gpu_util_permille": 800, "fb_used_mib": 900}),
        Said(("", "1"), "nlp/nb-2/c"),
    ),
    case(
        "4.8.2 with the flag: a 0 that the device's row confirms is a 0",
        [f"{UTIL}{{{NEW}}} 0", f'{UTIL}{{{NEW},{POD},vgpu="0"}} 0'],
        Said(("", ""), None, known={"gpu_util_permille": 0}),
        Said(("", "0"), "vision/train-0/main", known={"gpu_util_permille": 0}),
    ),
    case(
        "two pods on one device without vgpu: a series each",
        [f"{ENGINE}{{{NEW},{POD}}} 0.5", f'{ENGINE}{{{NEW},namespace="nlp",pod="nb-2",container="c"}} 0.5'],
        Said(("", ""), "vision/train-0/main", known={"gr_engine_permille": 500}),
        Said(("", "~1"), "nlp/nb-2/c", known={"gr_engine_permille": 500}),
    ),
    case(
        "an MIG instance that is shared",
        [f'{ENGINE}{{{NEW},GPU_I_PROFILE="3g.40gb",GPU_I_ID="1",vgpu="0",{POD}}} 0.5', f'{ENGINE}{{{NEW},GPU_I_PROFILE="3g.40gb",GPU_I_ID="1",vgpu="1"}} 0.5'],
        Said(("1", "0"), "vision/train-0/main", {"kind": "mig"}, {"gr_engine_permille": 500}),
        Said(("1", "1"), None, {"kind": "mig"}, {"gr_engine_permille": 500}),
    ),
    case(
        "DRA: a claim's labels beside the pod's",
        [f'{UTIL}{{{NEW},{POD},dra_claim_name="c",dra_claim_namespace="vision",dra_driver_name="gpu.nvidia.com",dra_pool_name="n7",dra_device_name="gpu-0"}} 1'],
        Said(pod="vision/train-0/main", fields={"kind": "gpu"}, known={"gpu_util_permille": 10}),
    ),
    case(
        "DRA: an instance that has no GPU_I_ID is called by its UUID",
        [f'{ENGINE}{{{NEW},{POD},dra_claim_name="c",dra_mig_profile="1g.10gb",dra_mig_device_uuid="MIG-1"}} 0.5'],
        Said(("MIG-1", ""), "vision/train-0/main", {"kind": "mig", "profile": "1g.10gb"}, {"gr_engine_permille": 500}),
    ),
    *[
        case(f"blank: {blank} of {kind}", [f"{metric}{{{NEW}}} {blank}" for metric in (UTIL, ENGINE, POWER, ENERGY, MEMORY, XID)], Said())
        for kind, blanks in BLANKS.items()
        for blank in blanks
    ],
    *[
        case(f"absurd: {metric} {value}", [f"{metric}{{{NEW}}} {value}"], Said())
        for metric, values in {
            UTIL: ("808334905", "4294967295", "100.1", "-1", "NaN", "+Inf", "-Inf"),
            ENGINE: ("1.01", "-0.01", "97", "NaN", "1e300"),
            POWER: ("-5", "10001", "1e400"),
            ENERGY: ("-1", "0", "9e18", "NaN"),  # a counter at 0 has never counted
            MEMORY: ("-1", "1e9"),
            XID: ("-1", "NaN"),
            "DCGM_FI_DEV_GPU_TEMP": ("0", "-20", "255"),
            "DCGM_FI_DEV_MEMORY_TEMP": ("0",),
            "DCGM_FI_DEV_SM_CLOCK": ("99999",),
        }.items()
        for value in values
    ],
    case("a ratio's noise at its borders is taken", [f"{ENGINE}{{{NEW}}} 1.0004", f"DCGM_FI_PROF_SM_ACTIVE{{{NEW}}} -0.0004"], Said(known={"gr_engine_permille": 1000, "sm_permille": 0})),
    case(
        "GR_ENGINE_ACTIVE stuck at 0 beside a busy GPU_UTIL: both are told",
        [f"{ENGINE}{{{NEW}}} 0.000000", f"{UTIL}{{{NEW}}} 99"],
        Said(known={"gr_engine_permille": 0, "gpu_util_permille": 990}),
    ),
    case("before Volta: no PROF metrics", [f"{UTIL}{{{NEW}}} 99"], Said(known={"gpu_util_permille": 990})),
    case(
        "text as a value costs its line",
        [f"{UTIL}{{{NEW}}} ERROR - FAILED TO CONVERT TO STRING", f"{POWER}{{{NEW}}} 70"],
        Said(known={"power_dw": 700}),
    ),
    case(
        "a label that is not escaped costs its lines",
        [f'{UTIL}{{gpu="1",UUID="GPU-b",modelName="the "best" GPU"}} 1', f"{POWER}{{{NEW}}} 70"],
        Said(known={"power_dw": 700}),
    ),
    case(
        "XID with its words is the same series",
        [f'{XID}{{{NEW},{POD},err_code="79",err_msg="GPU has fallen off the bus"}} 79', f"{UTIL}{{{NEW},{POD}}} 1"],
        Said(pod="vision/train-0/main", known={"xid": 79, "gpu_util_permille": 10}),
    ),
    case(
        "rows of NVLink are nobody's series",
        [f"{UTIL}{{{NEW}}} 1", 'DCGM_FI_DEV_NVLINK_TX_BYTES{gpu_uuid="GPU-z",model_name="H100",nvlink="3"} 9', "DCGM_FI_DRIVER_VERSION 1"],
        Said(known={"gpu_util_permille": 10}),
    ),
    case(
        "a signal with NVLink's spelling of the labels is the same series",
        [f"{UTIL}{{{NEW}}} 1", f'{POWER}{{gpu_uuid="GPU-a",model_name="NVIDIA H100 80GB HBM3",Hostname="n7"}} 70'],
        Said(fields={"model": "NVIDIA H100 80GB HBM3", "device_index": 0}, known={"gpu_util_permille": 10, "power_dw": 700}),
    ),
    case("a series twice on a page: the highest value", [f"{UTIL}{{{NEW}}} 5", f"{UTIL}{{{NEW}}} 9", f"{UTIL}{{{NEW}}} 7"], Said(known={"gpu_util_permille": 90})),
    case("a series twice on a page: what is no value does not count", [f"{UTIL}{{{NEW}}} 5", f"{UTIL}{{{NEW}}} 2147483632"], Said(known={"gpu_util_permille": 50})),
    case("a series twice, first blank", [f"{UTIL}{{{NEW}}} 2147483632", f"{UTIL}{{{NEW}}} 5"], Said(known={"gpu_util_permille": 50})),
    case("no UUID: nobody speaks", ['DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5', f"{POWER}{{{NEW}}} 70"], Said(known={"power_dw": 700})),
    case("an index that is no number", ['DCGM_FI_DEV_GPU_UTIL{gpu="x",UUID="GPU-a",Hostname="n7"} 5'], Said(fields={"device_index": -1}, known={"gpu_util_permille": 50})),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), CASES)
def test_what_a_page_says(lines: Sequence[str], said: Sequence[Said]) -> None:
    reading = read(understanding(), lines)
    rows = samples_frame([reading]).to_dicts()
    assert [(row.series.gi_id, row.series.vgpu) for row in reading.rows] == [
        expected.key for expected in said
    ]
    for row, values, expected in zip(reading.rows, rows, said, strict=True):
        assert {name: getattr(row.series, name) for name in expected.fields} == expected.fields
        assert {
            signal.column: values[signal.column] for signal in SIGNALS if values[signal.column] is not None
        } == expected.known
        assert pod(row.label) == expected.pod
        assert values["label_ref"] == (None if row.label is None else row.label.label_ref)
        assert (values["series_id"], values["sampled_at"], values["hold_ms"]) == (
            row.series.series_id,
            NOW,
            75_000,
        )
        assert (values["cluster"], values["source"]) == ("demo", "dcgm")


def understanding(**more: object) -> Understanding:
    """The understanding of one target, at 30 s."""
    return Understanding("demo", "http://n7:9400/metrics", "dcgm", 30_000, node="n-configured", **more)  # pyright: ignore[reportArgumentType]


def read(
    target: Understanding, lines: Sequence[str], at_ms: int = NOW, parser: Parser | None = None
) -> Reading:
    """What a page of these lines says."""
    return target.read((parser or Parser()).parse("".join(line + "\n" for line in lines).encode()), at_ms)


def pod(label: object) -> str | None:
    """A label set in short."""
    if label is None:
        return None
    names = [getattr(label, name) for name in ("namespace", "pod", "container")]
    uid, job = getattr(label, "pod_uid"), getattr(label, "hpc_job")  # noqa: B009
    return "/".join(names) + (f"/{uid}" if uid else "") + (f"/job {job}" if job else "").replace("//", "/")


@given(order=st.randoms(use_true_random=False), which=st.sampled_from(CASES))
def test_the_order_of_lines_says_nothing(order: random.Random, which: Any) -> None:
    """What is known of each series does not depend on where its lines stand (only slots of unnumbered pods do)."""
    lines, said = which.values
    shuffled = order.sample(lines, len(lines))
    first, second = (read(understanding(), some) for some in (lines, shuffled))
    if not any(expected.key[1].startswith("~") for expected in said):
        assert _by_series(first) == _by_series(second)


def _by_series(reading: Reading) -> dict[int, object]:
    return {row["series_id"]: row for row in samples_frame([reading]).to_dicts()}


# -- from page to page -------------------------------------------------------------------------------------------------


def test_series_and_labels_are_told_once() -> None:
    target, parser = understanding(), Parser()
    first = read(target, [f"{UTIL}{{{NEW},{POD}}} 1"], parser=parser)
    second = read(target, [f"{UTIL}{{{NEW},{POD}}} 2"], NOW + 30_000, parser)
    assert [series.start_at for series in first.new_series] == [NOW]
    assert [ref.pod for ref in first.new_labels] == ["train-0"]
    assert (second.new_series, second.new_labels) == ((), ())
    assert second.rows is first.rows


def test_a_restart_tells_nothing_that_the_ledger_knows() -> None:
    first = read(understanding(), [f"{UTIL}{{{NEW},{POD}}} 1"])
    known = {ref.label_ref for ref in first.new_labels}
    again = read(
        understanding(known_series=first.new_series, known_labels=known),
        [f"{UTIL}{{{NEW},{POD}}} 1"],
        NOW + 60_000,
    )
    assert (again.new_series, again.new_labels) == ((), ())
    assert again.rows == first.rows


def test_label_sets_are_shared_by_the_targets_of_a_cluster() -> None:
    known: set[int] = set()
    first = read(understanding(known_labels=known), [f"{UTIL}{{{NEW},{POD}}} 1"])
    second = read(understanding(known_labels=known), [f"{UTIL}{{{NEW},{POD}}} 1"])
    assert (len(first.new_labels), len(second.new_labels)) == (1, 0)


def test_a_new_pod_is_a_new_label_set_on_the_same_series() -> None:
    target = understanding()
    first = read(target, [f"{UTIL}{{{NEW},{POD}}} 1"])
    second = read(target, [f'{UTIL}{{{NEW},namespace="nlp",pod="nb-2",container="c"}} 1'], NOW + 30_000)
    assert second.new_series == ()
    assert [pod(ref) for ref in second.new_labels] == ["nlp/nb-2/c"]
    assert second.series_ids.tolist() == first.series_ids.tolist()


def test_a_vanished_pod_label_leaves_the_series_without_holder() -> None:
    target = understanding()
    read(target, [f"{UTIL}{{{NEW},{POD}}} 1"])
    second = read(target, [f"{UTIL}{{{NEW}}} 1"], NOW + 30_000)
    assert (second.new_series, second.rows[0].label) == ((), None)


def test_a_renamed_host_ends_the_old_series_and_begins_another() -> None:
    target = understanding()
    old = read(target, [f"{UTIL}{{{NEW}}} 1"]).new_series[0]
    news = read(target, [f"{UTIL}{{{NEW}}} 1".replace('"n7"', '"n7.example"')], NOW + 30_000).new_series
    assert [(s.node, s.start_at, s.end_at, s.revision) for s in news] == [
        ("n7.example", NOW + 30_000, None, 0),
        ("n7", NOW, NOW + 30_000, 1),
    ]
    assert news[1].series_id == old.series_id
    assert news[0].series_id != old.series_id


def test_another_spelling_of_the_labels_is_a_new_version_of_the_same_series() -> None:
    target = understanding()
    read(target, [f"{UTIL}{{{NEW}}} 1"])
    news = read(target, [f"{UTIL}{{{NEW}}} 1".replace("Hostname", "hostname")], NOW + 30_000).new_series
    assert [(s.label_generation, s.start_at, s.end_at, s.revision) for s in news] == [
        ("pci", NOW, NOW + 30_000, 1),
        ("lower", NOW + 30_000, None, 0),
    ]
    assert news[0].series_id == news[1].series_id


def test_a_change_at_the_instant_of_its_beginning_replaces_the_version() -> None:
    target = understanding()
    read(target, [f"{UTIL}{{{NEW}}} 1"])
    (series,) = read(target, [f"{UTIL}{{{NEW}}} 1".replace("Hostname", "hostname")], NOW).new_series
    assert (series.label_generation, series.start_at, series.end_at, series.revision) == (
        "lower",
        NOW,
        None,
        1,
    )


def test_an_absent_series_stays_open_and_is_not_told_again() -> None:
    target = understanding()
    read(target, [f"{UTIL}{{{NEW}}} 1"])
    assert (
        read(target, [f"{UTIL}{{{NEW}}} 1".replace("GPU-a", "GPU-b")], NOW + 30_000).new_series[0].gpu_uuid
        == "GPU-b"
    )
    assert read(target, [f"{UTIL}{{{NEW}}} 1"], NOW + 60_000).new_series == ()


def test_once_a_page_had_exported_labels_plain_pods_are_the_exporters_own() -> None:
    target = understanding()
    read(
        target,
        [
            f'{UTIL}{{{NEW},pod="dcgm-x7k",exported_pod="train-0",exported_namespace="vision",exported_container="main"}} 1'
        ],
    )
    later = read(
        target, [f'{UTIL}{{{NEW},pod="dcgm-x7k",namespace="gpu-operator",container="exp"}} 1'], NOW + 30_000
    )
    assert later.rows[0].label is None


def test_a_counter_that_was_reset_is_told_as_it_is() -> None:
    target = understanding()
    energies = [
        samples_frame([read(target, [f"{ENERGY}{{{NEW}}} {mj}"], NOW + at)])["energy_j"].to_list()
        for at, mj in ((0, 5_000_000), (30_000, 4_000))
    ]
    assert energies == [[5_000], [4]]


def test_another_exporters_page_is_foreign_and_an_empty_one_too() -> None:
    assert read(understanding(), ['node_cpu_seconds_total{cpu="0"} 1']).foreign
    assert read(understanding(), []).foreign
    assert not read(understanding(), ["DCGM_FI_DEV_NVLINK_TX_BYTES 1"]).foreign
    assert not read(understanding(), [f"{UTIL}{{{NEW}}} 1"]).foreign


def test_a_pages_own_timestamps_are_the_samples_times() -> None:
    reading = read(
        understanding(),
        [
            f"{UTIL}{{{NEW}}} 1 {NOW - 9_000}",
            f"{POWER}{{{NEW}}} 70 {NOW - 8_000}",
            f'{UTIL}{{UUID="GPU-b"}} 5',
        ],
    )
    assert reading.sampled_at_ms.tolist() == [NOW - 8_000, NOW]
    assert reading.skew_ms == 8_000
    assert read(understanding(), [f"{UTIL}{{{NEW}}} 1"]).skew_ms == 0


@pytest.mark.parametrize(
    ("behind_ms", "start"),
    [(9_000, NOW - 9_000), (-9_000, NOW), (7_200_000, NOW)],
    ids=["behind", "ahead", "a clock that jumped"],
)
def test_a_series_begins_no_later_than_its_first_sample(behind_ms: int, start: int) -> None:
    (series,) = read(understanding(), [f"{UTIL}{{{NEW}}} 1 {NOW - behind_ms}"]).new_series
    assert series.start_at == start


@pytest.mark.patient
def test_a_hostile_page_costs_no_more_than_its_length() -> None:
    """Twenty thousand pods on one device, and its power as often: seconds, not hours."""
    lines = [
        f'{UTIL}{{{NEW},namespace="n",pod="p{number}",container="c"}} {number % 101}'
        for number in range(20_000)
    ]
    lines += [f"{POWER}{{{NEW}}} {number % 700}" for number in range(20_000)]
    start = time.process_time()
    reading = read(understanding(), lines)
    assert len(reading.rows) == 20_000
    assert samples_frame([reading])["power_dw"].max() == 6990
    assert time.process_time() - start < 15


def test_readings_of_many_targets_are_one_frame() -> None:
    readings = [read(understanding(), [f"{UTIL}{{{NEW}}} {value}"]) for value in (1, 2)] + [
        read(understanding(), [])
    ]
    frame = samples_frame(readings)
    assert frame["gpu_util_permille"].to_list() == [10, 20]
    assert samples_frame([]).columns == frame.columns


@pytest.mark.patient
def test_the_frame_has_the_columns_of_the_table(samples_columns: list[str]) -> None:
    assert samples_frame([]).columns == samples_columns


def test_a_label_longer_than_any_name_is_cut_and_stays_different_from_others() -> None:
    lines = [f'{UTIL}{{{NEW},container="c",namespace="n",pod="{"x" * 65_536}{end}"}} 1' for end in "ab"]
    pods = [ref.pod for line in lines for ref in read(understanding(), [line]).new_labels]
    assert [len(pod) for pod in pods] == [253, 253]
    assert pods[0] != pods[1]
