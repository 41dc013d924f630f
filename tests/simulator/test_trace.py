"""Traces: read strictly, packed without a GPU held twice, replayed into a ledger; as dense as asked."""

import os
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from quartermaster.clock import DAY_MS, HOUR_MS, from_iso
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from simulator.landing import land
from simulator.packing import Placed, pack
from simulator.replay import Replay
from simulator.telemetry import Telemetry
from simulator.trace import Trace, dense, read
from sql.ledger import memory_ledger

START_MS = from_iso("2026-01-01")
NODES = (
    "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,2,T4\nn1,96000,393216,4,G2\nn2,96000,393216,4,G2\n"
)
HEAD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)


def write(folder: Path, pods: str, nodes: str = NODES) -> Path:
    (folder / "nodes.csv").write_text(nodes)
    (folder / "pods.csv").write_text(HEAD + pods)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Trace:
    """Whole GPUs, fractions, a pod without a GPU, one that never ran."""
    return read(
        write(
            tmp_path,
            "p-a-0,1000,1024,2,1000,,BE,Succeeded,0,7200,60\n"
            "p-a-1,1000,1024,1,460,,LS,Running,100,9000,100\n"
            "p-a-2,1000,1024,1,460,,LS,Failed,100,400,100\n"
            "p-a-3,1000,1024,1,810,,BE,Running,200,9000,200\n"
            "p-a-4,1000,1024,0,0,,BE,Running,0,9000,0\n"
            "p-a-5,1000,1024,4,1000,,BE,Pending,300,9000,\n",
        )
    )


def openb() -> Path:
    """The folder of the public trace, which is not part of the project."""
    folder = Path(os.environ.get("QUARTERMASTER_OPENB", Path(__file__).parents[3] / "shared/data/openb"))
    if not (folder / "pods.csv").exists():
        pytest.skip(f"the openb trace is not in {folder}: set QUARTERMASTER_OPENB to its folder")
    return folder


def held_at_most(placed: list[Placed]) -> int:
    """The most thousandths of one GPU that are held at one instant."""
    changes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for stay in placed:
        for gpu in stay.gpus:
            changes[stay.node, gpu] += [(stay.bound_ms, stay.pod.milli), (stay.end_ms, -stay.pod.milli)]
    most = 0
    for steps in changes.values():
        held = 0
        for _, milli in sorted(steps):
            held += milli
            most = max(most, held)
    return most


def test_pods_keep_their_times_and_fractions_share_a_gpu(small: Trace):
    placed = {stay.pod.name: stay for stay in pack(small)}
    assert set(placed) == {"p-a-0", "p-a-1", "p-a-2", "p-a-3", "p-a-5"}
    assert (placed["p-a-0"].bound_ms, placed["p-a-0"].end_ms) == (60_000, 7_200_000)
    assert len(placed["p-a-0"].gpus) == 2
    assert (placed["p-a-1"].node, placed["p-a-1"].gpus) == (placed["p-a-2"].node, placed["p-a-2"].gpus)
    assert (placed["p-a-3"].node, placed["p-a-3"].gpus) != (placed["p-a-1"].node, placed["p-a-1"].gpus)
    assert placed["p-a-5"].node == -1


def test_a_replay_is_the_trace_in_records(small: Trace):
    tables = Replay(small, 1, START_MS).records()
    allocations = tables["allocations_versions"].sort("pod")
    assert allocations["gpu_parts"].to_list() == [2 * GPU_PARTS, 460 * 168, 460 * 168, 810 * 168]
    assert allocations["end_evidence"].to_list() == ["succeeded", "", "failed", ""]
    assert (allocations["start_at"] - START_MS).to_list() == [60_000, 100_000, 100_000, 200_000]
    assert len(tables["devices_versions"]) == 10
    assert tables["holdings_versions"]["parts"].sum() == allocations["gpu_parts"].sum()
    waits = {row["reason"]: row for row in tables["demand_versions"].iter_rows(named=True)}
    assert waits["never ran"]["gpu_parts"] == 4 * GPU_PARTS
    assert waits["never ran"]["end_at"] is None
    assert waits["waits for room"]["end_at"] - waits["waits for room"]["start_at"] == 60_000


def test_the_same_name_is_the_same_team_and_a_copy_its_originals(small: Trace):
    replay = Replay(small, 1, START_MS)
    assert replay.team("openb-pod-0042") == replay.team("openb-pod-0042-7")
    assert len({replay.team(f"openb-pod-{n:04d}") for n in range(200)}) == 7


def test_samples_are_there_while_a_gpu_is_held_and_energy_grows(small: Trace):
    replay = Replay(small, 1, START_MS)
    whole = pl.concat(Telemetry(replay, 60_000).frames())
    pieces = pl.concat(Telemetry(replay, 60_000).frames(span_ms=1_800_000))
    assert whole.group_by("series_id", "sampled_at").len()["len"].max() == 1
    assert len(pieces) == len(whole)
    assert set(whole["series_id"]) == set(replay.records()["series_versions"]["series_id"])
    for frame in (whole, pieces):
        grown = frame.sort("series_id", "sampled_at").select(pl.col("energy_j").diff().over("series_id"))
        assert (grown["energy_j"].drop_nulls() > 0).all()
    for name in ("gr_engine_permille", "gpu_util_permille", "tensor_permille", "dram_permille"):
        assert whole[name].is_between(0, 1000).all()
    assert (whole["hold_ms"] == 150_000).all()


@pytest.mark.patient
def test_a_replay_lands_in_a_ledger_once(small: Trace):
    replay = Replay(small, 1, START_MS)
    done: list[float] = []
    with memory_ledger() as ledger:
        rows = land(replay, ledger, 60_000, done.append)
        again = land(replay, ledger, 60_000, done.append)
        assert rows == again
        for table, count in rows.items():
            assert ledger.query(f"select count(*) as n from {table}")["n"].item() == count, table
        joined = ledger.query(
            "select count(*) as n from samples join series using (cluster, series_id) "
            "join devices using (cluster, gpu_uuid)"
        )
        assert joined["n"].item() == rows["samples"]
    assert done[-1] == 1.0


@pytest.mark.parametrize("demand", [0.6, 0.9, 1.2])
@pytest.mark.patient
def test_a_dense_trace_asks_for_what_it_should(tmp_path: Path, demand: float):
    pods = "".join(
        f"p-a-{n},1,1,1,{500 + n % 2 * 500},,BE,Running,{n * 3600},{n * 3600 + 7200},{n * 3600}\n"
        for n in range(400)
    )
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{n},1,1,4,T4\n" for n in range(40))
    found = dense(read(write(tmp_path, pods, nodes)), copies=40, demand=demand, seed=2)
    gpus = sum(node.gpus for node in found.nodes)
    asked = sum(pod.load * (min(pod.deleted_ms, found.end_ms) - pod.created_ms) for pod in found.pods) / 1000
    assert asked / (gpus * (found.end_ms - found.start_ms)) == pytest.approx(demand, rel=0.05)
    assert len(found.pods) == 400 * 40
    placed = pack(found)
    assert held_at_most(placed) <= 1000
    assert len({stay.pod.name for stay in placed}) == len(placed) == len(found.pods)
    if demand > 1:
        assert any(stay.bound_ms > stay.pod.created_ms for stay in placed)
    assert dense(read(tmp_path), copies=40, demand=demand, seed=2) == found


def test_who_waits_is_bound_as_soon_as_there_is_room(tmp_path: Path):
    pods = "".join(f"p-a-{n},1,1,2,1000,,BE,Running,{n},{n + 100},{n}\n" for n in range(4))
    found = read(write(tmp_path, pods, "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,T4\n"))
    placed = pack(Trace("t", found.nodes, found.pods, 0, 1_000_000))
    assert [stay.bound_ms for stay in placed] == [0, 100_000, 200_000, 300_000]
    assert [stay.end_ms - stay.bound_ms for stay in placed] == [100_000] * 4


def test_what_is_no_trace_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"nodes\.csv: there is no such file"):
        read(tmp_path)
    write(tmp_path, "p-a-0,1,1,many,1000,,BE,Running,0,1,0\n")
    with pytest.raises(InputError, match=r"pods\.csv is no trace in the openb format"):
        read(tmp_path)
    (tmp_path / "pods.csv").write_text("who,what\n1,2\n")
    with pytest.raises(InputError, match=r"pods\.csv is no trace in the openb format"):
        read(tmp_path)
    write(tmp_path, "p-a-0,1,1,0,0,,BE,Running,0,1,0\n")
    with pytest.raises(InputError, match="no pod that asks for a GPU"):
        read(tmp_path)


def test_more_than_the_nodes_can_give_is_refused(small: Trace):
    with pytest.raises(InputError, match="1000 copies ask for") as caught:
        dense(small, copies=1000, demand=0.5, seed=1)
    assert "fewer copies" in caught.value.hint
    with pytest.raises(InputError, match="at least one copy"):
        dense(small, copies=0, demand=0.5, seed=1)


@pytest.mark.patient
def test_openb_as_it_is():
    trace = read(openb())
    placed = pack(trace)
    assert sum(node.gpus for node in trace.nodes) == 6212
    assert len(placed) == 7064
    assert held_at_most(placed) <= 1000
    assert all(stay.bound_ms == stay.pod.bound_ms for stay in placed if stay.node >= 0)
    replay = Replay(trace, 1, START_MS)
    held_ms = sum((stay.end_ms - stay.bound_ms) * stay.pod.load for stay in placed if stay.node >= 0)
    assert replay.end_ms - replay.start_ms == pytest.approx(149 * DAY_MS, rel=0.01)
    assert held_ms / 1000 / (6212 * (replay.end_ms - replay.start_ms)) == pytest.approx(0.0023, rel=0.1)
    samples = sum(len(frame) for frame in Telemetry(replay, HOUR_MS).frames())
    assert 40_000 < samples < 70_000
