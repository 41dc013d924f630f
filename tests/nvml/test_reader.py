"""The reader through NVIDIA's own binding and the stand-in library: what it tells, and what becomes of each fault."""

from collections.abc import AsyncGenerator
from ctypes.util import find_library
from pathlib import Path

import pytest

from collector.dcgm.fetch import Failure
from collector.nvml.fetch import Fetcher, Places
from collector.nvml.look import LOST, RESET, Look, from_line, to_line
from tests.nvml.host import Script, Tree


@pytest.fixture
async def fetcher(tree: Tree) -> AsyncGenerator[Fetcher]:
    made = Fetcher(Places(tree.proc, tree.cgroup), timeout_ms=20_000)
    yield made
    await made.close()


async def seen(fetcher: Fetcher, pids: tuple[int, ...] = ()) -> Look:
    answer = await fetcher.fetch(pids)
    assert isinstance(answer, Look), answer
    return answer


async def failed(fetcher: Fetcher) -> Failure:
    answer = await fetcher.fetch()
    assert isinstance(answer, Failure), answer
    return answer


async def test_all_that_a_gpu_tells(script: Script, tree: Tree, fetcher: Fetcher):
    script.gpu(0)
    script.processes = {0: ["41", "42"]}
    script.lines = ["mps 0 43"]
    script.write()
    for pid in (41, 42, 43):
        tree.process(pid, uid=1, age_s=60)
    first, second = await seen(fetcher), await seen(fetcher, (44,))
    gpu = second.gpus[0]
    assert (gpu.uuid, gpu.model, gpu.minor, gpu.mig, gpu.persistent) == (
        "GPU-0",
        "NVIDIA H100 80GB HBM3",
        0,
        False,
        True,
    )
    whole = {
        "power_dw": 300.0,
        "energy_j": 1e6,
        "gpu_temp_c": 50.0,
        "memory_temp_c": 60.0,
        "sm_clock_mhz": 1500.0,
        "memory_clock_mhz": 2600.0,
        "fb_used_mib": 1024.0,
        "gpu_util_permille": 50.0,
        "mem_copy_permille": 20.0,
    }
    assert first.gpus[0].signals == whole  # GPM needs two samples
    gpm = {"gr_engine_permille": 0.4, "sm_permille": 0.3, "tensor_permille": 0.1, "dram_permille": 0.2}
    assert gpu.signals == pytest.approx(whole | gpm)
    assert gpu.pids == (41, 42, 43)
    assert sorted(second.processes) == [41, 42, 43]
    process = second.processes[41]
    assert (process.uid, process.name, second.users[1].name) == (1, "python3", "daemon")
    assert second.at_ms - process.start_ms == pytest.approx(60_000, abs=20)
    assert (second.boot_id, second.driver) == ("boot-1", "570.86")
    assert from_line(to_line(second)) == second


async def test_an_older_gpu_tells_less(script: Script, fetcher: Fetcher):
    without = dict.fromkeys(("gr", "sm_util", "tensor", "dram", "energy", "mem_temp", "power", "persistence"))
    script.gpu(0, name="NVIDIA GeForce GTX 1080", **without)
    script.write()
    await seen(fetcher)
    gpu = (await seen(fetcher)).gpus[0]
    assert gpu.persistent is None
    assert gpu.signals == {
        "gpu_util_permille": 50.0,
        "mem_copy_permille": 20.0,
        "fb_used_mib": 1024.0,
        "gpu_temp_c": 50.0,
        "sm_clock_mhz": 1500.0,
        "memory_clock_mhz": 2600.0,
    }


async def test_where_the_driver_keeps_no_samples_the_rates_of_the_instant_stand(
    script: Script, fetcher: Fetcher
):
    script.gpu(0, util=73)
    script.lines = ["fail nvmlDeviceGetSamples 3"]
    script.write()
    assert (await seen(fetcher)).gpus[0].signals["gpu_util_permille"] == 73.0


async def test_names_in_any_encoding(script: Script, fetcher: Fetcher):
    script.gpu(0)
    script.gpus[0]["name"] = "NVIDIA Gr\xfcn".encode("latin-1")
    script.gpus[0]["uuid"] = b"GPU-\xff"
    script.write()
    gpu = (await seen(fetcher)).gpus[0]
    assert (gpu.model, gpu.uuid) == ("NVIDIA Gr\N{REPLACEMENT CHARACTER}n", "GPU-\N{REPLACEMENT CHARACTER}")


async def test_mig_instances_speak_and_are_held_for_themselves(script: Script, tree: Tree, fetcher: Fetcher):
    script.gpu(0, mig=1)
    script.instance(0, 3, "1g.10gb", used=100, gr=70, sm_util=60, tensor=50, dram=40)
    script.instance(0, 5, "1c.3g.40gb", ci=1, used=200)
    script.processes = {0: ["41 3"]}
    script.write()
    tree.process(41)
    await seen(fetcher)
    gpu = (await seen(fetcher)).gpus[0]
    one, two = gpu.instances
    assert (one.gi, one.ci, one.uuid, one.profile, one.pids) == (3, 0, "MIG-0-3-0", "1g.10gb", (41,))
    assert one.signals["gr_engine_permille"] == pytest.approx(0.7)
    assert (two.gi, two.ci, two.profile, two.pids, two.signals) == (
        5,
        1,
        "1c.3g.40gb",
        (),
        {"fb_used_mib": 200.0},
    )
    assert gpu.signals["power_dw"] == 300.0
    assert "gpu_util_permille" not in gpu.signals


@pytest.mark.parametrize(("code", "trouble"), [(15, LOST), (16, RESET)])
@pytest.mark.patient
async def test_a_gpu_that_does_not_answer_costs_itself_alone(
    script: Script, fetcher: Fetcher, code: int, trouble: str
):
    script.gpu(0)
    script.gpu(1)
    script.write()
    await seen(fetcher)
    script.gpus[0]["error"] = code
    script.write()
    lost, well = (await seen(fetcher)).gpus
    assert (lost.trouble, lost.signals) == (trouble, {})
    assert (well.trouble, well.uuid) == ("", "GPU-1")


async def test_xids_are_told_once(script: Script, fetcher: Fetcher):
    script.gpu(0)
    script.gpu(1)
    script.write()
    await seen(fetcher)
    script.lines = ["xid 1 31 1", "xid 1 79 2"]
    script.write()
    assert [gpu.xids for gpu in (await seen(fetcher)).gpus] == [(), (31, 79)]
    assert [gpu.xids for gpu in (await seen(fetcher)).gpus] == [(), ()]


async def test_processes_that_may_not_be_known(script: Script, fetcher: Fetcher):
    script.gpu(0)
    script.lines = ["fail nvmlDeviceGetComputeRunningProcesses_v3 4"]
    script.write()
    gpu = (await seen(fetcher)).gpus[0]
    assert (gpu.trouble, gpu.pids) == ("", None)


@pytest.mark.parametrize(
    ("code", "reason", "next_step"),
    [
        (9, "driver not loaded", "modprobe nvidia"),
        (4, "no permission", "/dev/nvidiactl"),
        (999, "NVML error 999", "Unknown Error"),
    ],
)
@pytest.mark.patient
async def test_a_driver_that_does_not_begin(
    script: Script, fetcher: Fetcher, code: int, reason: str, next_step: str
):
    script.lines = [f"init {code}"]
    script.write()
    failure = await failed(fetcher)
    assert failure.reason == reason
    assert next_step in failure.detail
    script.lines = []
    script.gpu(0)
    script.write()
    assert len((await seen(fetcher)).gpus) == 1


@pytest.mark.patient
async def test_a_driver_that_is_loaded_anew_costs_a_look(script: Script, fetcher: Fetcher):
    script.gpu(0)
    script.write()
    await seen(fetcher)
    script.generation = 2
    script.write()
    assert (await failed(fetcher)).reason == "driver loaded anew"
    assert (await seen(fetcher)).gpus[0].uuid == "GPU-0"


@pytest.mark.patient
async def test_a_library_of_another_version_is_loaded_when_the_drivers_fit_again(
    script: Script, fetcher: Fetcher
):
    script.gpu(0)
    script.write()
    await seen(fetcher)
    script.library = (
        "575.10"  # the package was updated, the kernel's module was not: only new processes see it
    )
    script.write()
    await seen(fetcher)
    script.kernel, script.generation = "575.10", 2  # and now it was, without a boot
    script.write()
    assert (await failed(fetcher)).reason == "driver loaded anew"
    assert (await seen(fetcher)).driver == "575.10"
    script.kernel, script.generation = "580.00", 3
    script.write()
    await failed(fetcher)
    mismatch = await failed(fetcher)
    assert mismatch.reason == "driver and library differ"
    assert "reboot" in mismatch.detail


@pytest.mark.patient
async def test_a_library_that_breaks_or_hangs_does_not_take_the_collector_along(script: Script, tree: Tree):
    fetcher = Fetcher(Places(tree.proc, tree.cgroup), timeout_ms=3_000, first_ms=5_000)
    script.gpu(0)
    script.lines = ["crash 1"]
    script.write()
    broken = await failed(fetcher)
    assert (broken.reason, broken.detail) == ("reader ended", "by signal 6: the driver's library broke")
    script.lines = ["sleep 60"]
    script.write()
    assert (await failed(fetcher)).reason == "timeout"
    script.lines = []
    script.write()
    assert len((await seen(fetcher)).gpus) == 1
    await fetcher.close()


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has NVIDIA's library")
async def test_without_a_library(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    fetcher = Fetcher(Places(tree.proc, tree.cgroup), timeout_ms=20_000)
    failure = await failed(fetcher)
    await fetcher.close()
    assert failure.reason == "no NVML library"
    assert "NVIDIA's driver" in failure.detail


@pytest.mark.patient
async def test_a_host_whose_proc_is_elsewhere(script: Script, tmp_path: Path):
    fetcher = Fetcher(Places(tmp_path / "nowhere", tmp_path), timeout_ms=20_000)
    failure = await failed(fetcher)
    await fetcher.close()
    assert failure.reason == "not understood"
    assert "nowhere" in failure.detail
