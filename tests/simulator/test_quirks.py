"""Each quirk of a page does what its name says, and nothing else."""

from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.errors import InputError
from simulator import quirks
from simulator.simulation import ClusterSimulation


def lines(page: bytes | None, metric: str) -> list[str]:
    assert page is not None
    return [line for line in page.decode().splitlines() if line.startswith(metric + "{")]


def values(page: bytes | None, metric: str) -> list[str]:
    return [line.rpartition("} ")[2] for line in lines(page, metric)]


def changed(simulation: ClusterSimulation, node: str, *names: str) -> tuple[bytes, bytes]:
    """The node's page without and with the quirks."""
    without = simulation.page(node, simulation.clock_ms)
    simulation.switch(node, names)
    after = simulation.page(node, simulation.clock_ms)
    assert without is not None
    assert after is not None
    assert simulation.quirks(node) == tuple(sorted(names))
    return without, after


def differing(before: bytes, after: bytes) -> set[str]:
    """The metrics whose lines are not the same."""
    one, two = (set(page.decode().splitlines()) for page in (before, after))
    return {line.partition("{")[0] for line in one ^ two if not line.startswith("#")}


def test_a_name_that_is_no_quirk_is_refused(noon: ClusterSimulation):
    with pytest.raises(InputError, match="'sulk' is no quirk"):
        noon.switch("*", ["sulk"])
    with pytest.raises(InputError, match="no node 'n9'"):
        noon.switch("n9", ["hang"])
    with pytest.raises(InputError, match="no label generation"):
        noon.speak("*", "9.9")


def test_a_quirk_ends_when_it_is_switched_off(noon: ClusterSimulation):
    before, after = changed(noon, "h100-0", "stuck-gr-engine")
    assert before != after
    noon.switch("h100-0", [])
    assert noon.page("h100-0", noon.clock_ms) == before


def test_stuck_gr_engine(noon: ClusterSimulation):
    before, after = changed(noon, "h100-0", "stuck-gr-engine")
    assert differing(before, after) == {"DCGM_FI_PROF_GR_ENGINE_ACTIVE"}
    assert set(values(after, "DCGM_FI_PROF_GR_ENGINE_ACTIVE")) == {"0.000000"}


def test_absurd_utilization(noon: ClusterSimulation):
    before, after = changed(noon, "h100-0", "absurd-utilization")
    assert differing(before, after) == {"DCGM_FI_DEV_GPU_UTIL"}
    assert values(after, "DCGM_FI_DEV_GPU_UTIL")[:2] == ["4294967295", "808334905"]


def test_blanks(noon: ClusterSimulation):
    _, after = changed(noon, "h100-0", "blanks")
    assert values(after, "DCGM_FI_DEV_POWER_USAGE")[0] == "140737488355328.000000"
    assert values(after, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")[0] == "9223372036854775794"
    assert values(after, "DCGM_FI_DEV_GPU_UTIL")[0] == "2147483632"
    assert float(values(after, "DCGM_FI_DEV_POWER_USAGE")[1]) < 800


def test_text_value(noon: ClusterSimulation):
    before, after = changed(noon, "h100-0", "text-value")
    assert differing(before, after) == {"DCGM_FI_DEV_GPU_TEMP"}
    with pytest.raises(ValueError, match="could not convert"):
        list(text_string_to_metric_families(after.decode()))


def test_missing_fields_and_no_prof(noon: ClusterSimulation):
    before, after = changed(noon, "h100-0", "missing-fields")
    assert differing(before, after) == {
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "DCGM_FI_PROF_DRAM_ACTIVE",
    }
    _, after = changed(noon, "h100-1", "no-prof")
    assert b"DCGM_FI_PROF" not in after


def test_mig_quirks(noon: ClusterSimulation):
    _, after = changed(noon, "a100-0", "no-mig-memory")
    assert not [line for line in lines(after, "DCGM_FI_DEV_FB_USED") if "GPU_I_ID" in line]
    assert lines(after, "DCGM_FI_DEV_FB_USED")
    _, after = changed(noon, "a100-0", "mig-utilization-zero")
    on_mig = [line for line in lines(after, "DCGM_FI_DEV_GPU_UTIL") if "GPU_I_ID" in line]
    assert on_mig
    assert all(line.endswith("} 0") for line in on_mig)


def test_duplicates(noon: ClusterSimulation):
    before, after = changed(noon, "h100-0", "duplicates")
    assert len(after.splitlines()) == len(before.splitlines()) + 25


def test_dra_and_hpc_job(noon: ClusterSimulation):
    _, after = changed(noon, "l40s-0", "dra")
    noon.speak("l40s-0", "4.5")
    after = noon.page("l40s-0", noon.clock_ms)
    held = [line for line in lines(after, "DCGM_FI_DEV_GPU_TEMP") if "namespace" in line]
    assert held
    assert all('dra_driver_name="gpu.nvidia.com"' in line and "pod_uid" not in line for line in held)
    _, after = changed(noon, "l40s-0", "hpc-job")
    assert after.count(b"hpc_job=") >= 25


def test_unescaped_label(noon: ClusterSimulation):
    _, after = changed(noon, "l40s-0", "unescaped-label")
    assert b'"\\n{x="1",}' in after


def test_sharing_unflagged_gives_everything_to_one_pod(noon: ClusterSimulation):
    for _ in range(80):
        noon.advance(noon.clock_ms + HOUR_MS)
        if b"vgpu=" in (noon.page("t4-1", noon.clock_ms) or b""):
            break
    before, after = changed(noon, "t4-1", "sharing-unflagged")
    assert b"vgpu=" in before
    assert b"vgpu=" not in after
    assert len(lines(after, "DCGM_FI_DEV_GPU_TEMP")) == 4


def test_frozen_stays_as_it_was(noon: ClusterSimulation):
    _, after = changed(noon, "h100-0", "frozen")
    assert noon.page("h100-0", noon.clock_ms + HOUR_MS) == after
    noon.switch("h100-0", [])
    assert noon.page("h100-0", noon.clock_ms) != after


def test_clock_jump_puts_timestamps_two_hours_behind_now_and_then(noon: ClusterSimulation):
    noon.switch("h100-0", ["clock-jump"])
    behind: set[int] = set()
    for _ in range(6):
        now = noon.clock_ms + 5 * MINUTE_MS
        stamps = {int(value.split()[1]) for value in values(noon.page("h100-0", now), "DCGM_FI_DEV_GPU_TEMP")}
        assert len(stamps) == 1
        behind.add(now - stamps.pop())
    assert behind == {0, 2 * HOUR_MS}


def test_counter_reset_starts_anew_every_kilowatt_hour(noon: ClusterSimulation):
    noon.switch("h100-0", ["counter-reset"])
    read: list[int] = []
    for _ in range(30):
        page = noon.page("h100-0", noon.clock_ms + 30 * MINUTE_MS)
        read.append(int(values(page, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")[0]))
    assert max(read) < quirks.KILOWATT_HOUR_MJ
    assert any(later < earlier for earlier, later in pairwise(read))


def test_vanishing_labels_come_back(noon: ClusterSimulation):
    noon.switch("l40s-0", ["vanishing-labels"])
    seen: list[bool] = []
    for _ in range(6):
        page = noon.page("l40s-0", noon.clock_ms + 10 * MINUTE_MS)
        assert page is not None
        seen.append(b'namespace="search-prod"' in page)
    assert seen.count(False) == 2


@pytest.mark.patient
def test_lingering_labels_stay_for_half_an_hour(noon: ClusterSimulation):
    noon.switch("*", ["lingering-labels"])
    kept = 0
    for _ in range(200):
        noon.advance(noon.clock_ms + 5 * MINUTE_MS)
        for node in noon.nodes:
            page = noon.page(node, noon.clock_ms)
            state = noon.cluster.machines[node]
            for slot in state.machine.slots():
                pod = noon._exporters[node]._last.get(slot.index)
                if page is None or pod is None or pod.allocation.end_at is None or slot.resource != "gpu":
                    continue
                if noon.cluster.occupants[slot.index] is not None or not state.open:
                    continue
                uuid = noon.cluster.fleet.gpus[noon.cluster.fleet.units[slot.unit].gpu].uuid
                rows = [line for line in lines(page, "DCGM_FI_DEV_GPU_TEMP") if uuid in line]
                fresh = noon.clock_ms - pod.allocation.end_at < quirks.LINGERS_MS
                assert all((f'pod="{pod.allocation.pod}"' in row) == fresh for row in rows)
                kept += fresh
    assert kept
