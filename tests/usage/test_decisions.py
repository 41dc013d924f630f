"""Decisions 1–9 of the ledger, each with given rows and expected rows: minutes of an hour, in GPU-minutes."""

from dataclasses import replace
from typing import Any

import pytest

from quartermaster import records
from quartermaster.ids import device_id
from tests.usage.small import CLUSTER, MINUTE, G, Small, gpu, m, pod

STATES = ("computing", "idle", "unknown")
CAPACITY = ("held", "unallocated", "unavailable", "unobserved")


class TestDecision1Telemetry:
    """A sample speaks forward, energy backward."""

    def test_a_sample_speaks_until_the_next_or_its_hold_ends(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (-4, 500), (10, 0), (15, 500))
        assert c.rows(*STATES)[0, "a"] == (6 + 10, 5, 60 - 21)

    def test_a_null_sample_ends_the_one_before(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, 500), (3, None))
        assert c.rows(*STATES)[0, "a"] == (3, 0, 57)

    def test_series_of_one_device_at_one_millisecond_are_merged(self) -> None:
        c = Small(sharing="time-slicing")
        c.series(0, vgpu="1")
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, 0), (20, 0))
        c.heard(0, (0, 700), vgpu="1")
        assert c.rows(*STATES)[0, "a"] == (10, 10, 40)

    def test_the_source_that_counts_is_heard_alone(self) -> None:
        c = Small()
        c.series(0, source="prometheus")
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, 0))
        c.heard(0, (5, 900), (20, 900), source="prometheus")
        assert c.rows(*STATES)[0, "a"] == (0, 10, 50)

    def test_a_gap_silences_its_source_and_beats_its_samples(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, 500), (8, 500), (16, 500))
        c.gap("telemetry", "dcgm", 5, 12)
        c.gap("telemetry", "nvml", 0, 60)
        assert c.rows(*STATES)[0, "a"] == (5 + 10, 0, 45)

    def test_energy_belongs_to_the_time_before_its_reading(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (-5, {"energy_j": 1000}), (5, {"energy_j": 1901}))
        assert c.rows("energy_j", "energy_known")[0, "a"] == (901 - 450, 5)

    @pytest.mark.parametrize(
        ("after", "minute"),
        [(999, 5), (1000 + 3001 * 300, 5), (2000, 11)],
        ids=["negative", "impossible", "too long"],
    )
    @pytest.mark.patient
    def test_energy_that_cannot_be_is_unknown(self, after: int, minute: int) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, {"energy_j": 1000}), (minute, {"energy_j": after}))
        assert c.rows("energy_j", "energy_known")[0, "a"] == (0, 0)

    @pytest.mark.patient
    def test_energy_is_split_over_time_and_parts_and_nothing_is_lost(self) -> None:
        c = Small()
        c.pod("a", 0, 3, gpu(0), parts=G // 3)
        c.pod("b", 0, 60, gpu(0), parts=G // 3)
        c.heard(0, (0, {"energy_j": 0}), (10, {"energy_j": 1000}))
        found = {key: row[0] for key, row in c.rows("energy_j").items()}
        assert found == {(0, "a"): 100, (0, "b"): 333, (0, None): 567}
        assert sum(found.values()) == 1000


class TestDecision2States:
    """Computing, idle, unknown; what is confirmed and what is stalled."""

    @pytest.mark.patient
    def test_any_signal_at_its_floor_is_computing(self) -> None:
        c = Small()
        c.floor("gr_engine", 30)
        c.pod("a", 0, 60, gpu(0))
        c.heard(
            0,
            (0, 30),
            (10, 29),
            (20, {"gr_engine_permille": 0, "gpu_util_permille": 1000}),
            (30, {"power_dw": 7000}),
        )
        assert c.rows(*STATES)[0, "a"] == (20, 10, 30)

    def test_floors_are_those_of_the_workloads_kind(self) -> None:
        c = Small()
        c.h.workloads = [records.Workload(CLUSTER, 1, m(-60), None, "", "Notebook", "a", "nb")]
        c.floor("gr_engine", 10)
        c.floor("gr_engine", 100, kind="Notebook")
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, 50))
        assert c.rows(*STATES)[0, "a"] == (0, 10, 50)

    def test_idle_is_confirmed_by_power_from_the_energy_counter(self) -> None:
        c = Small()
        c.floor("power", 1000)
        c.pod("a", 0, 60, gpu(0))
        # 60 W for ten minutes, then 300 W
        c.heard(
            0,
            *[
                (t, {"gr_engine_permille": 0, "energy_j": e})
                for t, e in ((0, 0), (10, 36_000), (20, 216_000))
            ],
        )
        assert c.rows("idle", "idle_confirmed")[0, "a"] == (30, 10)

    def test_labels_alone_confirm_no_idleness_on_a_shared_device(self) -> None:
        c = Small(sharing="time-slicing")
        c.floor("power", 1000)
        c.pod("a", 0, 60, gpu(0), parts=G // 2, evidence="label")
        c.pod("b", 0, 60, gpu(0), parts=G // 2, evidence="kubelet")
        c.heard(0, (0, {"gr_engine_permille": 0, "energy_j": 0}), (10, {"energy_j": 36_000}))
        found = c.rows("idle", "idle_confirmed")
        assert (found[0, "a"], found[0, "b"]) == ((5, 0), (5, 5))

    def test_stalled_is_busy_by_gpu_util_while_nothing_else_works(self) -> None:
        c = Small()
        c.floor("power", 2000)
        c.pod("a", 0, 60, gpu(0))
        hung = {
            "gpu_util_permille": 1000,
            "gr_engine_permille": 1000,
            "tensor_permille": 0,
            "dram_permille": 0,
        }
        c.heard(
            0,
            (0, hung | {"energy_j": 0}),
            (10, hung | {"energy_j": 60_000, "tensor_permille": 400}),
            (20, {"energy_j": 120_000}),
        )
        assert c.rows("computing", "stalled")[0, "a"] == (20, 10)

    def test_activity_is_the_first_known_of_gr_engine_sm_gpu_util(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, {"gpu_util_permille": 900, "sm_permille": 200}), (10, {"gpu_util_permille": 700}))
        assert c.rows("activity_permille", "activity_peak_permille")[0, "a"] == (200 * 10 + 700 * 10, 700)

    def test_faulted_not_started_and_confirmed_exclude_each_other(self) -> None:
        c = Small()
        c.h.nodes += [
            replace(c.h.nodes[0], start_at=m(10), ready=False),
            replace(c.h.nodes[0], start_at=m(20)),
        ]
        c.floor("power", 1000)
        c.pod("a", 0, 60, gpu(0), started_at=m(30))
        c.heard(0, *[(t, {"gr_engine_permille": 0, "energy_j": 0}) for t in range(0, 61, 10)])
        assert c.rows("idle", "faulted", "not_started", "idle_confirmed")[0, "a"] == (60, 10, 20, 30)


class TestDecision3Binding:
    """Held starts at binding."""

    def test_an_image_that_will_not_pull_is_held_and_not_started(self) -> None:
        c = Small()
        c.pod("a", 5, 60, gpu(0), started_at=None)
        assert c.rows("held", "not_started")[0, "a"] == (55, 55)

    def test_time_outside_the_sure_span_is_estimated(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0), sure_start_at=m(10), sure_end_at=m(50))
        assert c.rows("held", "estimated")[0, "a"] == (60, 20)

    def test_a_ten_second_pod_is_ten_seconds(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0))
        c.h.allocations[0] = replace(c.h.allocations[0], end_at=m(0) + 10_000)
        held = [row["held_pms"] for key, row in c.found(1).usage.items() if key[5] == pod("a")]
        assert held == [10_000 * G]


class TestDecision4Evidence:
    """Who names the device, and where a pod is laid whose device nobody names."""

    def test_unnamed_pods_are_laid_after_named_ones_healthy_devices_first(self) -> None:
        c = Small(3)
        c.h.devices[0] = replace(c.h.devices[0], healthy=False)
        c.pod("a", 0, 60)
        c.pod("b", 10, 60, gpu(1))
        c.heard(1, (0, 500))
        found = c.rows("held", "unknown")
        assert found[1, "a"] == (10, 10)
        assert found[2, "a"] == (50, 50)
        assert (0, "a") not in found

    def test_evidence_once_seen_names_the_device_for_the_whole_allocation(self) -> None:
        c = Small(2)
        c.pod("a", 0, 60, gpu(1))
        c.h.holdings[0] = replace(c.h.holdings[0], start_at=m(30), end_at=m(40))
        assert c.rows("held")[1, "a"] == (60,)

    def test_better_evidence_is_believed_alone(self) -> None:
        c = Small(2)
        c.pod("a", 0, 60, gpu(0), evidence="label")
        c.h.holdings.append(replace(c.h.holdings[0], holding_id=9, device_id=gpu(1), evidence="dra"))
        found = c.rows("held")
        assert found[1, "a"] == (60,)
        assert (0, "a") not in found


class TestDecision5Sharing:
    """Each holder has its parts, and the device's signals are everyone's."""

    def test_holders_share_signals_and_keep_their_parts(self) -> None:
        c = Small(sharing="time-slicing", replicas=4)
        c.pod("a", 0, 60, gpu(0), parts=G // 4)
        c.pod("b", 0, 60, gpu(0), parts=G // 2)
        c.heard(0, (0, 500))
        found = c.rows("held", "computing", "unallocated")
        assert found == {(0, "a"): (15, 2.5, 0), (0, "b"): (30, 5, 0), (0, None): (0, 0, 15)}

    def test_a_shared_claim_is_divided_by_its_holders_at_the_instant(self) -> None:
        c = Small()
        c.pod("a", 0, 60, gpu(0), evidence="dra")
        c.pod("b", 30, 60, gpu(0), evidence="dra")
        assert c.rows("held", "overbooked") == {(0, "a"): (45, 0), (0, "b"): (15, 0)}


class TestDecision6Mig:
    """A MIG GPU's instances are devices; the rest is uncarved."""

    def test_instances_are_devices_and_energy_goes_by_parts(self) -> None:
        c = Small()
        whole = c.h.devices.pop()
        for index, (gi, kind, sevenths) in enumerate(
            (("1", "mig", 3), ("2", "mig", 2), ("uncarved", "uncarved", 2))
        ):
            name = device_id(CLUSTER, "G0", gi)
            c.h.devices.append(
                replace(
                    whole, device_id=name, device_index=index, gi_id=gi, kind=kind, parts=G // 7 * sevenths
                )
            )
            c.series(0, gi_id=gi)
        c.h.nodes[0] = replace(c.h.nodes[0], gpu_count=0)
        c.pod("a", 0, 60, device_id(CLUSTER, "G0", "1"), parts=G // 7 * 3)
        c.pod("b", 0, 60)
        c.heard(0, (0, 500), gi_id="1")
        c.heard(0, (0, {"energy_j": 0}), (10, {"energy_j": 700}))
        found = c.rows("capacity", "held", "computing", "energy_j")
        rounded = {key: tuple(round(x, 3) for x in row) for key, row in found.items()}
        assert rounded[0, "a"] == (25.714, 25.714, 4.286, 300)
        assert rounded[1, "b"] == (17.143, 17.143, 0, 0)
        assert rounded[2, None] == (17.143, 0, 0, 200)


class TestDecision7Overbooking:
    """Holdings fill a device in order of binding; what finds no room is overbooked."""

    def test_what_finds_no_room_is_outside_held(self) -> None:
        c = Small()
        c.pod("b", 0, 60, gpu(0), parts=G // 2)
        c.pod("a", 10, 60, gpu(0))
        found = c.rows("capacity", "held", "overbooked")
        assert found[0, "b"] == (30, 30, 0)
        assert found[0, "a"] == (25, 25, 25)

    def test_what_cannot_be_laid_is_overbooked_on_no_device(self) -> None:
        c = Small()
        c.pod("a", 0, 60)
        c.pod("b", 0, 60)
        assert c.rows("held", "overbooked")[None, "b"] == (0, 60)

    def test_intervals_from_labels_end_where_the_next_begins(self) -> None:
        c = Small(told="labels")
        c.pod("a", 0, None, gpu(0), evidence="label", source="labels")
        c.pod("b", 20, None, gpu(0), evidence="label", source="labels")
        assert c.rows("held", "overbooked") == {(0, "a"): (20, 0), (0, "b"): (40, 0)}


class TestDecision8Capacity:
    """Held, unavailable, unobserved, unallocated: the first that is true."""

    def test_each_part_is_the_first_that_is_true(self) -> None:
        c = Small()
        c.h.nodes += [
            replace(c.h.nodes[0], start_at=m(20), schedulable=False),
            replace(c.h.nodes[0], start_at=m(40)),
        ]
        c.pod("a", 0, 10, gpu(0))
        c.gap("holders", "kubernetes", 5, 30)
        c.gap("holders", "labels", 0, 60)
        assert c.rows(*CAPACITY) == {(0, "a"): (10, 0, 0, 0), (0, None): (0, 20, 20, 10)}

    def test_without_anybody_who_is_believed_nothing_is_held(self) -> None:
        c = Small()
        c.h.authority = [replace(c.h.authority[0], end_at=m(30))]
        c.pod("a", 0, 60, gpu(0))
        assert c.rows(*CAPACITY) == {(0, "a"): (30, 0, 0, 0), (0, None): (0, 0, 0, 30)}

    def test_a_source_counts_only_in_its_own_span(self) -> None:
        c = Small()
        c.h.authority.append(records.Authority(CLUSTER, 2, m(-600), None, "labels", 4))
        c.h.authority[0] = replace(c.h.authority[0], end_at=m(20))
        c.pod("a", 0, 60, gpu(0))
        c.pod("b", 0, 60, gpu(0), source="labels", evidence="label")
        assert c.rows("held") == {(0, "a"): (20,), (0, "b"): (40,)}

    def test_a_cordon_alone_is_no_fault(self) -> None:
        c = Small(schedulable=False)
        c.pod("a", 0, 30, gpu(0))
        assert c.rows("held", "faulted", "unavailable") == {(0, "a"): (30, 0, 0), (0, None): (0, 0, 30)}

    def test_faulted_is_held_while_not_ready_and_not_computing(self) -> None:
        c = Small(ready=False)
        c.pod("a", 0, 60, gpu(0))
        c.heard(0, (0, 500))
        assert c.rows("held", "computing", "faulted")[0, "a"] == (60, 10, 50)

    def test_what_nobody_names_is_node_index_until_the_real_one_is_known(self) -> None:
        c = Small(2)
        c.h.devices[1] = replace(c.h.devices[1], start_at=m(45))
        c.pod("a", 0, 60, gpu(1))
        ghost = device_id(CLUSTER, "n/1")
        found = c.account().usage
        by_device = {
            (key[4], row["team"] is not None): row["held_pms"] // G // MINUTE for key, row in found.items()
        }
        assert by_device == {(gpu(0), True): 45, (gpu(0), False): 0, (ghost, False): 0, (gpu(1), True): 15}

    def test_where_the_node_has_ended_nothing_is_held(self) -> None:
        c = Small()
        c.h.nodes[0] = replace(c.h.nodes[0], end_at=m(15))
        c.pod("a", 0, 60, gpu(0))
        c.pod("b", 0, 60)
        assert c.rows("capacity", "held", "overbooked") == {(0, "a"): (15, 15, 0), (None, "b"): (0, 0, 15)}


class TestDecision9Lending:
    """Guaranteed, borrowed, lent and spare by instant."""

    def lend(self, gpus: int, promises: dict[str, float], held: dict[str, int]) -> Any:
        c = Small(gpus)
        c.namespaces_are_teams(*sorted({*promises, *held}))
        for team, promised in promises.items():
            c.promise(team, promised)
        index = 0
        for team, count in held.items():
            for _ in range(count):
                c.pod(f"{team}{index}", 0, 60, gpu(index), namespace=team)
                index += 1
        found = c.account()
        quota = {
            key[2]: {k.removesuffix("_pms"): v / G / MINUTE / 60 for k, v in row.items()}
            for key, row in found.quota.items()
        }
        return quota, {key[2:]: lent / G / MINUTE / 60 for key, lent in found.lending.items()}

    def test_borrowed_comes_first_from_spare_then_from_unused_guarantees(self) -> None:
        quota, lending = self.lend(6, {"a": 3, "b": 2}, {"c": 3, "b": 1})
        assert [quota["c"][x] for x in ("held", "within", "borrowed", "from_spare")] == [3, 0, 3, 1]
        assert [(quota[t]["unused"], quota[t]["lent"]) for t in ("a", "b")] == [(3, 1.5), (1, 0.5)]
        assert lending == {("a", "c"): 1.5, ("b", "c"): 0.5}

    def test_the_matrix_lays_lenders_and_borrowers_side_by_side_in_order_of_name(self) -> None:
        quota, lending = self.lend(4, {"a": 2, "b": 2}, {"c": 1, "d": 3})
        assert [(quota[t]["borrowed"]) for t in ("c", "d")] == [1, 3]
        assert lending == {("a", "c"): 1, ("a", "d"): 1, ("b", "d"): 2}

    def test_the_largest_remainder_breaks_ties_by_name(self) -> None:
        c = Small(3)
        c.namespaces_are_teams("a", "b", "c", "d")
        for team in ("a", "b", "c"):
            c.promise(team, 1)
        c.pod("d", 0, 60, gpu(0), parts=G // 2 + 1, namespace="d")
        lent = [row["lent_pms"] // 60 // MINUTE for _, row in sorted(c.account().quota.items())]
        assert lent[:3] == [28_001, 28_000, 28_000]

    def test_bookings_add_and_offers_subtract(self) -> None:
        c = Small()
        c.promise("a", 1)
        c.promise("a", 2, 30, 60, kind="booking")
        c.promise("a", 4, 45, 60, kind="offer")
        (row,) = c.account().quota.values()
        assert row["guaranteed_pms"] == (30 * 1 + 15 * 3) * G * MINUTE

    def test_in_a_quota_gap_the_last_known_guarantee_stands(self) -> None:
        c = Small()
        c.promise("a", 1, -60, 20)
        c.gap("quota", "configuration", 10, 50, node="")
        (row,) = c.account().quota.values()
        assert row["guaranteed_pms"] == 50 * G * MINUTE

    def test_within_a_team_non_preemptible_work_is_covered_first(self) -> None:
        c = Small(3)
        c.namespaces_are_teams("t")
        c.promise("t", 1.5)
        c.pod("a", 0, 60, gpu(0), namespace="t")
        c.pod("b", 10, 60, gpu(1), namespace="t", preemptible=False)
        c.pod("c", 0, 60, gpu(2), namespace="t")
        found = c.rows("borrowed")
        assert (found[0, "a"], found[1, "b"], found[2, "c"]) == ((5 + 25 - 5,), (0,), (55,))


def test_a_changed_rule_begins_a_row_with_the_new_team() -> None:
    c = Small()
    c.namespaces_are_teams("old")
    c.h.team_rules = [
        replace(c.h.team_rules[0], namespace_glob="a", end_at=m(20)),
        replace(c.h.team_rules[0], rule_id=7, namespace_glob="a", start_at=m(20), team="new"),
    ]
    c.pod("a", 0, 60, gpu(0))
    held = {key[0]: (row["team"], row["held_pms"] // G // MINUTE) for key, row in c.account().usage.items()}
    assert held == {m(0): ("old", 20), m(20): ("new", 40)}


def test_rule_1_holds_in_every_row() -> None:
    c = Small(3)
    c.pod("a", 0, 40, gpu(0))
    c.pod("b", 7, 33)
    c.heard(0, (0, 500), (10, 0))
    for row in c.account().usage.values():
        assert row["capacity_pms"] == sum(row[f"{name}_pms"] for name in CAPACITY)
        assert row["held_pms"] == sum(row[f"{name}_pms"] for name in STATES)


def test_pods_are_in_order_of_their_names() -> None:
    assert pod("a") < pod("b")
