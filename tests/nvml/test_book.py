"""Who held which device from when to when: single looks, and random histories against their own script."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.nvml.look import LOST, Gpu, Instance, Job, Look, Process, User, from_line, to_line
from collector.nvml.memory import restore, save
from collector.nvml.picture import Picture
from collector.nvml.settings import Settings
from quartermaster.errors import InputError
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS
from quartermaster.person import person_id
from quartermaster.records import Allocation, Device, Holding, Workload
from quartermaster.team import Rule, pattern_id

T0, SECOND = 1_800_000_000_000, 1_000
KEY = b"a key that is long enough"
RULES = (Rule("vision", unix_user="al*"), Rule("speech", unix_group="speech"), Rule("other", unix_user="zz*"))
SETTINGS = Settings("lab", "n1", rules=RULES, person_key=KEY)
USERS = {1000: User(1000, "alice", ("users", "vision")), 1001: User(1001, "bob", ("speech",))}
A, B = device_id("lab", "GPU-a"), device_id("lab", "GPU-b")


def at(seconds: int) -> int:
    return T0 + seconds * SECOND


def process(pid: int, start_s: int, uid: int = 1000, cgroup: str = "", name: str = "python") -> Process:
    return Process(
        pid, pid, at(start_s), uid, name, cgroup or f"0::/user.slice/user-{uid}.slice/session-{uid}.scope"
    )


def look(
    seconds: int,
    on: Mapping[str, Sequence[Process]],
    *,
    also: Sequence[Process] = (),
    boot: str = "b",
    **changes: Any,
) -> Look:
    gpus = tuple(
        Gpu(index, f"GPU-{name}", "NVIDIA H100", index, pids=tuple(each.pid for each in on.get(name, ())))
        for index, name in enumerate("ab")
    )
    processes = {each.pid: each for theirs in (*on.values(), also) for each in theirs}
    made = Look(at(seconds), boot, at(-1000), gpus=gpus, processes=processes, users=USERS)
    return replace(made, **changes)


class Diary:
    """A picture and all that it told, the last version of each."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.settings = settings
        self.picture = Picture(settings)
        self.allocations: dict[int, Allocation] = {}
        self.holdings: dict[tuple[int, int], Holding] = {}
        self.devices: dict[tuple[int, int], Device] = {}
        self.workloads: list[Workload] = []

    def see(self, *looks: Look) -> "Diary":
        for each in looks:
            self.picture.see(each)
            self._note()
        return self

    def _note(self) -> None:
        told = self.picture.book.take()
        for allocation in told.allocations.values():
            known = self.allocations.get(allocation.allocation_id)
            assert known is None or allocation.revision > known.revision or allocation == known
            self.allocations[allocation.allocation_id] = allocation
        for key, holding in told.holdings.items():
            known = self.holdings.get(key)
            assert known is None or holding.revision > known.revision or holding == known
            self.holdings[key] = holding
        for device in self.picture.fleet.devices.drain():
            self.devices[device.device_id, device.start_at] = device
        self.workloads += told.workloads

    def begin_anew(self, folder: Path) -> None:
        """Another life of the collector."""
        save(folder / "memory.json", self.picture.fleet, self.picture.book)
        self.picture = Picture(self.settings)
        assert restore(folder / "memory.json", self.picture.fleet, self.picture.book)
        self.picture.openings(0)

    def spans(self, device: int) -> list[tuple[int, int | None, int]]:
        """The device's holdings: start, end, parts."""
        found = [
            each
            for each in self.holdings.values()
            if each.device_id == device and each.end_at != each.start_at
        ]
        return sorted(((e.start_at, e.end_at, e.parts) for e in found), key=lambda e: (e[0], e[1] or 0, e[2]))

    def lives(self) -> list[tuple[int, int | None, int | None, int | None, str]]:
        """Allocations: start, end, sure from and until, and why it ended."""
        told = sorted(
            self.allocations.values(), key=lambda each: (each.start_at, each.end_at or 0, each.allocation_id)
        )
        return [
            (each.start_at, each.end_at, each.sure_start_at, each.sure_end_at, each.end_evidence)
            for each in told
        ]


def test_a_process_holds_from_its_own_start_to_the_first_look_without_it():
    mine = process(1, 40)
    diary = Diary().see(
        look(0, {}), look(30, {}), look(60, {"a": [mine]}), look(90, {"a": [mine]}), look(120, {})
    )
    assert diary.lives() == [(at(40), at(120), at(60), at(90), "gone")]
    assert diary.spans(A) == [(at(40), at(120), GPU_PARTS)]
    assert diary.spans(B) == []


def test_a_process_that_took_its_gpu_late_holds_since_the_look_that_did_not_see_it_there():
    mine = process(1, -500)
    diary = Diary().see(look(0, {}), look(30, {}), look(60, {"a": [mine]}))
    assert diary.lives() == [(at(30), None, at(60), None, "")]


def test_nothing_is_held_before_the_first_look():
    assert Diary().see(look(0, {"a": [process(1, -500)]})).lives() == [(at(0), None, at(0), None, "")]


def test_users_on_one_gpu_share_it_from_the_seconds_start_to_the_look_without_the_first():
    one, two = process(1, 10), process(2, 70, uid=1001)
    diary = Diary().see(
        look(0, {}),
        look(30, {"a": [one]}),
        look(60, {"a": [one]}),
        look(90, {"a": [one, two]}),
        look(120, {"a": [two]}),
    )
    half = GPU_PARTS // 2
    assert diary.spans(A) == [
        (at(10), at(70), GPU_PARTS),
        (at(70), at(120), half),
        (at(70), at(120), half),
        (at(120), None, GPU_PARTS),
    ]


def test_processes_of_one_session_are_one_holder():
    one, two, three = process(1, 10), process(2, 20), process(3, 100)
    first = look(30, {"a": [one, two], "b": [two]})
    diary = Diary().see(
        look(0, {}), first, look(60, {"a": [two]}), look(90, {"a": [two]}), look(120, {"a": [three]})
    )
    assert diary.lives() == [(at(10), None, at(30), None, "")]
    assert diary.spans(A) == [(at(10), None, GPU_PARTS)]
    assert diary.spans(B) == [(at(20), at(60), GPU_PARTS)]


def test_who_moves_to_another_gpu_goes_on():
    for there, then in (("a", "b"), ("b", "a")):
        diary = Diary().see(
            look(0, {}), look(30, {there: [process(1, 10)]}), look(60, {then: [process(2, 40)]})
        )
        assert diary.lives() == [(at(10), None, at(30), None, "")]
        assert [each.gpu_parts for each in diary.allocations.values()] == [2 * GPU_PARTS]


def test_looks_that_were_kept_replay_to_the_same_records():
    job = Job("7", 1001, at(12), minors=(1,))
    looks = [
        look(0, {}),
        look(30, {"a": [process(1, 10)]}, jobs=(job,)),
        look(60, {"a": [process(2, 50, 1001)]}),
    ]
    kept = [from_line(to_line(each)) for each in looks]
    assert kept == looks
    first, again = Diary().see(*looks), Diary().see(*(each for each in kept if isinstance(each, Look)))
    assert (first.allocations, first.holdings, first.devices) == (
        again.allocations,
        again.holdings,
        again.devices,
    )
    assert first.workloads == again.workloads


def test_a_session_that_comes_back_is_another_allocation_of_the_same_workload():
    diary = Diary().see(
        look(0, {}), look(30, {"a": [process(1, 10)]}), look(60, {}), look(90, {"a": [process(2, 80)]})
    )
    assert [life[:2] for life in diary.lives()] == [(at(10), at(60)), (at(80), None)]
    assert len({allocation.workload_id for allocation in diary.allocations.values()}) == 1


def test_a_job_holds_what_slurm_gave_it_though_nobody_computes():
    job = Job("7", 1001, at(12), minors=(0, 1))
    diary = Diary().see(look(0, {}), look(30, {}, jobs=(job,)), look(60, {}, jobs=(job,)), look(90, {}))
    assert diary.lives() == [(at(12), at(90), at(30), at(60), "gone")]
    assert diary.spans(A) == diary.spans(B) == [(at(12), at(90), GPU_PARTS)]
    (workload,) = diary.workloads
    assert (workload.api_group, workload.kind, workload.name) == ("slurm", "Job", "7")
    assert {each.evidence for each in diary.holdings.values()} == {"slurm"}


def test_no_name_and_no_number_of_a_user_stands_in_what_is_told():
    mine, other = process(1, 10), process(2, 10, uid=1001)
    diary = Diary().see(look(0, {}), look(30, {"a": [mine], "b": [other]}))
    patterns = {tuple(json.loads(each.user_patterns)) for each in diary.allocations.values()}
    assert patterns == {(pattern_id("unix_user", "al*"),), (pattern_id("unix_group", "speech"),)}
    assert {each.person_id for each in diary.workloads} == {person_id(KEY, "alice"), person_id(KEY, "bob")}
    assert {each.namespace for each in diary.workloads} == {"session"}
    told = repr((diary.allocations, diary.holdings, diary.workloads))
    # sessions are numbered by the boot, here after their users only to tell them apart
    told = told.replace("session-1000.scope", "").replace("session-1001.scope", "")
    assert not any(word in told for word in ("alice", "bob", "1000,", "1001,", "'vision'", "'speech'"))


def test_where_processes_are_numbered_otherwise_nobody_is_taken_to_be_gone():
    mine = process(1, 10)
    elsewhere = replace(look(60, {"a": [process(9, 50, uid=1001)]}), others_unseen=True)
    diary = Diary().see(look(0, {}), look(30, {"a": [mine]}), elsewhere, look(90, {"a": [mine]}))
    assert diary.lives() == [(at(10), None, at(30), None, "")]
    gaps = diary.picture.take(at(90)).frames["gaps_versions"].sort("revision").rows(named=True)
    told = [(gap["covers"], gap["reason"], gap["start_at"], gap["end_at"]) for gap in gaps]
    assert told == [
        ("holders", "other namespace", at(60), None),
        ("holders", "other namespace", at(60), at(90)),
    ]


def test_a_lost_gpu_keeps_its_holder_until_its_process_is_gone():
    mine = process(1, 10)
    lost = (Gpu(0, "GPU-a", trouble=LOST), Gpu(1, "GPU-b", "NVIDIA H100", 1))
    seen = look(60, {}, also=[mine])
    diary = Diary().see(
        look(0, {}), look(30, {"a": [mine]}), replace(seen, gpus=lost), replace(look(90, {}), gpus=lost)
    )
    assert diary.lives() == [(at(10), at(90), at(30), at(30), "gone")]
    healthy = sorted(
        (each.start_at, each.end_at, each.healthy) for each in diary.devices.values() if each.device_id == A
    )
    assert healthy == [(at(0), at(60), True), (at(60), None, False)]
    assert [each.healthy for each in diary.devices.values() if each.device_id == B] == [True]


def test_after_a_boot_nobody_holds_and_what_is_missing_was_taken_out():
    mine, again = process(1, 10), replace(process(1, 100), ticks=9)
    booted = replace(look(120, {"a": [again]}, boot="b2"), booted_ms=at(95))
    diary = Diary().see(look(0, {}), look(30, {"a": [mine]}), replace(booted, gpus=booted.gpus[:1]))
    assert diary.lives() == [
        (at(10), at(95), at(30), at(30), "host booted"),
        (at(100), None, at(120), None, ""),
    ]
    assert {each.device_id: each.end_at for each in diary.devices.values()} == {A: None, B: at(95)}
    assert len({each.workload_id for each in diary.workloads}) == 2  # sessions are numbered anew at each boot


def test_a_gpu_that_cannot_say_its_name_after_a_boot_was_not_taken_out():
    booted = replace(look(120, {}, boot="b2"), booted_ms=at(95))
    nameless = replace(booted, gpus=(booted.gpus[0], Gpu(1, trouble="Unknown Error")))
    diary = Diary().see(look(0, {}), nameless)
    told = sorted(
        (each.start_at, each.end_at, each.healthy) for each in diary.devices.values() if each.device_id == B
    )
    assert told == [(at(0), at(120), True), (at(120), None, False)]
    assert diary.picture.fleet.away == {"GPU-b": "Unknown Error"}


def test_a_gpu_that_is_cut_ends_whole_and_its_instances_begin():
    mine = process(1, 10)
    cut = look(60, {}, also=[mine])
    instance = Instance(3, 0, "MIG-a", "3g.40gb", pids=(1,))
    gpus = (replace(cut.gpus[0], mig=True, instances=(instance,)), cut.gpus[1])
    diary = Diary().see(look(0, {}), look(30, {"a": [mine]}), replace(cut, gpus=gpus))
    assert diary.spans(A) == [(at(10), at(60), GPU_PARTS)]
    assert diary.spans(device_id("lab", "GPU-a", "3")) == [(at(60), None, GPU_PARTS * 3 // 7)]
    told = {
        (each.kind, each.parts, each.end_at) for each in diary.devices.values() if each.gpu_uuid == "GPU-a"
    }
    assert told == {
        ("gpu", GPU_PARTS, at(60)),
        ("mig", GPU_PARTS * 3 // 7, None),
        ("uncarved", GPU_PARTS * 4 // 7, None),
    }


def test_an_xid_that_takes_a_gpu_away_and_the_reset_that_brings_it_back():
    first, second = look(0, {}), look(30, {})
    fatal = replace(second, gpus=(replace(second.gpus[0], xids=(31, 48)), second.gpus[1]))
    away = replace(look(60, {}), gpus=(Gpu(0, "GPU-a", trouble=LOST), second.gpus[1]))
    diary = Diary().see(first, fatal, look(45, {}), away, look(90, {}))
    told = sorted(
        (each.start_at, each.end_at, each.healthy) for each in diary.devices.values() if each.device_id == A
    )
    assert told == [(at(0), at(30), True), (at(30), at(90), False), (at(90), None, True)]


def test_a_boot_heals_what_an_xid_made_sick():
    fatal = look(30, {})
    fatal = replace(fatal, gpus=(replace(fatal.gpus[0], xids=(79,)), fatal.gpus[1]))
    diary = Diary().see(look(0, {}), fatal, look(60, {}), look(90, {}, boot="b2"))
    told = sorted((each.start_at, each.healthy) for each in diary.devices.values() if each.device_id == A)
    assert told == [(at(0), True), (at(30), False), (at(90), True)]


def test_instances_of_any_cut_are_at_most_the_gpu():
    """Two compute instances of one GPU instance are told apart; what makes no sense takes what is left."""
    instances = (
        *(Instance(1, 0, "MIG-a", "1c.3g.40gb"), Instance(1, 1, "MIG-b", "2c.3g.40gb")),
        *(
            Instance(2, 0, "MIG-c", "4g.40gb"),
            Instance(3, 0, "MIG-d", "9g.99gb"),
            Instance(4, 0, "MIG-e", "4g.40gb"),
        ),
    )
    first = look(0, {})
    diary = Diary().see(replace(first, gpus=(replace(first.gpus[0], mig=True, instances=instances),)))
    seventh = GPU_PARTS // 7
    told = {each.gi_id: each.parts for each in diary.devices.values()}
    assert told == {"1.0": seventh, "1.1": 2 * seventh, "2": 4 * seventh}


def test_rules_that_change_hold_for_who_is_there(tmp_path: Path):
    mine = process(1, 10)
    diary = Diary().see(look(0, {}), look(30, {"a": [mine]}))
    diary.settings = replace(SETTINGS, rules=(Rule("new", unix_group="vis*"),))
    diary.begin_anew(tmp_path)
    diary.see(look(60, {"a": [mine]}))
    (allocation,) = diary.allocations.values()
    assert json.loads(allocation.user_patterns) == [pattern_id("unix_group", "vis*")]
    assert (allocation.start_at, allocation.end_at) == (at(10), None)


def test_a_host_with_another_name_is_another_node(tmp_path: Path):
    diary = Diary().see(look(0, {"a": [process(1, -5)]}))
    diary.settings = replace(SETTINGS, node="n2")
    diary.begin_anew(tmp_path)
    diary.see(look(60, {"a": [process(1, -5)]}))
    nodes = diary.picture.fleet.nodes.drain()
    assert [(each.node, each.start_at, each.end_at) for each in nodes] == [
        ("n1", at(0), at(60)),
        ("n2", at(60), None),
    ]
    assert {(each.node, each.end_at) for each in diary.devices.values() if each.device_id == A} == {
        ("n1", at(60)),
        ("n2", None),
    }


def test_a_host_that_nobody_looked_at_for_days_was_there_for_one(tmp_path: Path):
    day = 86_400
    diary = Diary().see(look(0, {"a": [process(1, -5)]}))
    diary.begin_anew(tmp_path)
    diary.see(look(day - 1, {"a": [process(1, -5)]}), look(5 * day, {"a": [process(1, -5)]}))
    lives = sorted(
        (each.start_at, each.end_at or 0) for each in diary.devices.values() if each.device_id == A
    )
    assert lives == [(at(0), at(2 * day - 1)), (at(5 * day), 0)]
    nodes = diary.picture.fleet.nodes.drain()
    assert [(each.start_at, each.end_at) for each in nodes] == [(at(0), at(2 * day - 1)), (at(5 * day), None)]
    assert diary.lives() == [(at(0), None, at(0), None, "")]  # nothing is held where there is no host


def test_with_slurm_alone_only_its_jobs_hold():
    inside = process(1, 10, cgroup="0::/system.slice/slurmstepd.scope/job_7/step_0")
    job = Job("7", 1000, at(5))
    diary = Diary(replace(SETTINGS, source="slurm"))
    diary.see(look(0, {}), look(30, {"a": [inside, process(2, 10, uid=1001)]}, jobs=(job,)))
    assert [(each.source, each.namespace, each.pod) for each in diary.allocations.values()] == [
        ("slurm", "slurm", "7")
    ]
    assert diary.spans(A) == [(at(10), None, GPU_PARTS)]
    told = diary.picture.take(at(30))
    marks = told.frames["watermarks"].select("source", "covers").rows()
    assert sorted(marks) == [("nvml", "telemetry"), ("slurm", "holders")]
    assert told.frames["authority_versions"].select("source", "rank").rows() == [("slurm", 40)]


def test_a_clock_that_goes_back_makes_no_span_end_before_it_begins():
    one, two = process(1, 10), process(2, 40, uid=1001)
    diary = Diary().see(look(0, {}), look(60, {"a": [one]}), look(20, {"a": [one, two]}))
    diary.see(look(15, {"a": [two]}), look(90, {}))
    for each in (*diary.allocations.values(), *diary.holdings.values(), *diary.devices.values()):
        assert each.end_at is None or each.end_at >= each.start_at
    assert [end for _, end, _ in diary.spans(A)][-1] == at(90)


def test_a_memory_is_its_owners_alone_and_one_that_is_damaged_is_refused(tmp_path: Path):
    file = tmp_path / "m.json"
    diary = Diary().see(look(0, {"a": [process(1, -5)]}))
    save(file, diary.picture.fleet, diary.picture.book)
    assert file.stat().st_mode & 0o077 == 0  # it has users' numbers
    whole = file.read_text()
    for damaged in (
        "",
        "[]",
        "{}",
        whole[:-9],
        whole.replace('"form": 1', '"form": 2'),
        whole.replace("owner", "x"),
    ):
        file.write_text(damaged)
        fresh = Picture(SETTINGS)
        with pytest.raises(InputError, match="is damaged"):
            restore(file, fresh.fleet, fresh.book)
        assert not fresh.fleet.devices.open
        assert not fresh.book.holdings
    assert not restore(tmp_path / "none", diary.picture.fleet, diary.picture.book)


# A random script: which process is on which GPU between which looks.
spans = st.tuples(
    st.integers(0, 20),
    st.integers(1, 20),
    st.integers(0, 25),
    st.sampled_from([1000, 1001, 1002]),
    st.sampled_from("ab"),
)


@given(st.lists(spans, max_size=8), st.sets(st.integers(1, 20), max_size=3))
@pytest.mark.patient
def test_random_histories(
    tmp_path_factory: Any, script: list[tuple[int, int, int, int, str]], restarts: set[int]
):
    """At every instant who is on a GPU by the script's own account has equal parts; a restart changes nothing."""
    folder = tmp_path_factory.mktemp("memory")
    once, twice = Diary(), Diary()
    seen: dict[str, dict[int, list[int]]] = {"a": {}, "b": {}}
    for number in range(21):
        on: dict[str, list[Process]] = {"a": [], "b": []}
        for pid, (first, length, late, uid, gpu) in enumerate(script, 1):
            if first <= number < first + length:
                mine = process(pid, first * 30 - late, uid)
                on[gpu].append(mine)
                seen[gpu].setdefault(uid, []).append(number)
        now = look(number * 30, on)
        once.see(now)
        if number in restarts:
            twice.begin_anew(folder)
        twice.see(now)
    assert (once.lives(), once.spans(A), once.spans(B)) == (twice.lives(), twice.spans(A), twice.spans(B))
    for gpu, device in (("a", A), ("b", B)):
        told = once.spans(device)
        for number in range(20):
            # just before a look: who was there at the look before and is there at this one, or leaves at it
            instant = at(number * 30 + 30) - 1
            sharing = [
                (start, parts)
                for start, end, parts in told
                if start <= instant and (end is None or instant < end)
            ]
            there = {uid for uid, looks in seen[gpu].items() if number in looks}
            came = {uid for uid, looks in seen[gpu].items() if number + 1 in looks} - there
            assert len(there) <= len(sharing) <= len(there | came)
            assert all(parts == GPU_PARTS // len(sharing) for _, parts in sharing)
    for holding in once.holdings.values():
        mine = once.allocations[holding.allocation_id]
        assert holding.start_at >= mine.start_at
        assert mine.end_at is None or (holding.end_at is not None and holding.end_at <= mine.end_at)
