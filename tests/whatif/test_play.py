"""A past played again: each rule in a scene of a few jobs, to the hour."""

from dataclasses import replace

import pytest

from enforcer.whatif.asked import Turn
from enforcer.whatif.figures import figures
from quartermaster.clock import MINUTE_MS
from quartermaster.parts import GPU_PARTS as G
from tests.whatif.scenes import ACT, POOL, H, job, past, played, promise, terms, told


def test_what_has_room_runs_when_it_is_asked_for() -> None:
    _, of = played(past(job("a", "a", 1, 3)), terms())
    assert told(of["a"]) == [(1, 4, "done")]


def test_what_lasts_longer_than_the_past_is_open_at_its_end() -> None:
    _, of = played(past(job("a", "a", 20, 30)), terms())
    assert told(of["a"]) == [(20, 24, "open")]


def test_who_finds_no_room_waits_and_a_smaller_one_does_not_wait_for_it() -> None:
    _, of = played(past(job("a", "a", 0, 5, 3), job("b", "a", 1, 1, 2), job("c", "a", 2, 1, 1)), terms())
    assert (told(of["b"]), told(of["c"])) == ([(5, 6, "done")], [(2, 3, "done")])
    assert of["b"].waited_ms == 4 * H


def test_under_a_limit_a_team_waits_though_gpus_are_free() -> None:
    asked = past(job("a", "a", 0, 5, 2), job("b", "a", 1, 1, 2))
    _, of = played(asked, terms(promise("a", 2, 2), promise("b", 2, 2)))
    assert told(of["b"]) == [(5, 6, "done")]


def test_a_borrower_gives_way_to_an_owner_and_runs_its_whole_work_again() -> None:
    asked = past(job("borrower", "a", 0, 5, 4), job("owner", "b", 2, 3, 2))
    world, of = played(asked, terms(promise("a", 2), promise("b", 2), acting=ACT))
    assert told(of["owner"]) == [(2, 5, "done")]
    assert told(of["borrower"]) == [(0, 2, "preempted"), (5, 10, "done")]
    together = figures(world, 24 * H)[-1]
    assert (together.preempted, together.lost_pms) == (1, 4 * 2 * H * G)


def test_in_shadow_nobody_gives_way() -> None:
    asked = past(job("borrower", "a", 0, 5, 4), job("owner", "b", 2, 3, 2))
    world, of = played(asked, terms(promise("a", 2), promise("b", 2)))
    assert told(of["owner"]) == [(5, 8, "done")]
    assert world.accounts[POOL, "b"].owed_pms == 2 * G * 3 * H  # its own two GPUs, for three hours


def test_an_owner_waits_until_a_borrower_has_had_its_minimum_runtime() -> None:
    asked = past(job("borrower", "a", 0, 5, 4), job("owner", "b", 0.05, 3, 2))
    _, of = played(asked, terms(promise("a", 2), promise("b", 2), acting=ACT, minimum_runtime="10m"))
    assert of["owner"].runs[0].begun_ms == 10 * MINUTE_MS


def test_the_newest_borrower_gives_way_and_what_is_within_the_guarantee_stays() -> None:
    asked = past(
        job("old", "a", 0, 20, 2),
        job("older", "a", 1, 20, 1),
        job("new", "a", 2, 20, 1),
        job("owner", "b", 3, 1),
    )
    _, of = played(asked, terms(promise("a", 2), promise("b", 2), acting=ACT))
    assert [uid for uid, story in of.items() if story.runs[0].how == "preempted"] == ["new"]


def test_who_gave_way_rests_before_it_borrows_again() -> None:
    asked = past(job("borrower", "a", 0, 5, 4), job("owner", "b", 2, 1, 4))
    _, of = played(asked, terms(promise("a", 0), promise("b", 4), acting=ACT, back_off="3h"))
    assert told(of["borrower"]) == [(0, 2, "preempted"), (5, 10, "done")]


def test_who_does_not_borrow_and_who_cannot_be_preempted_are_not_taken() -> None:
    asked = past(
        job("fixed", "a", 0, 9, 2, preemptible=False), job("own", "a", 0, 9, 2), job("owner", "b", 2, 1, 2)
    )
    _, of = played(asked, terms(promise("a", 4), promise("b", 2), acting=ACT))
    assert all(story.runs[0].how != "preempted" for story in of.values())


def test_only_preemptible_work_borrows() -> None:
    _, of = played(past(job("a", "a", 0, 1, 2, preemptible=False)), terms(promise("a", 1), promise("b", 3)))
    assert told(of["a"]) == []
    assert of["a"].waits_since_ms == 0


def test_spare_gpus_go_to_the_team_least_above_its_guarantee_for_its_weight() -> None:
    asked = [job(f"{team}{n}", team, 1, 20) for team in ("a", "b") for n in range(8)]
    full = job("full", "c", 0, 2, 8)
    world, of = played(
        past(full, *asked, nodes=(8,), hours=20), terms(promise("a", 1, weight=1), promise("b", 1, weight=2))
    )
    held = {team: sum(of[f"{team}{n}"].runs != [] for n in range(8)) for team in ("a", "b")}
    assert held == {"a": 3, "b": 5}  # one each, and six spare ones by weight: 2 and 4
    assert world.spaces[POOL].free_pms == 0


def test_a_gang_runs_whole_or_not_at_all() -> None:
    asked = past(job("one", "a", 0, 4), job("gang", "a", 1, 2, pods=(4 * G, 4 * G)), nodes=(4, 4))
    _, of = played(asked, terms())
    assert told(of["gang"]) == [(4, 6, "done")]


def test_whole_gpus_of_one_pod_are_on_one_machine_and_the_fullest_is_taken_first() -> None:
    asked = past(job("small", "a", 0, 9), job("two", "a", 0, 9, 2), job("four", "a", 1, 1, 4), nodes=(4, 4))
    _, of = played(asked, terms())
    assert told(of["four"]) == [(1, 2, "done")]


def test_shares_of_a_gpu_lie_beside_each_other() -> None:
    asked = past(*(job(f"s{n}", "a", 0, 2, 0.5) for n in range(4)), job("whole", "a", 1, 1, 2), nodes=(4,))
    _, of = played(asked, terms())
    assert told(of["whole"]) == [(1, 2, "done")]


def test_what_ran_at_the_beginning_runs_on_where_it_ran() -> None:
    asked = past(
        job("there", "a", -3, 5, 2, begun_ms=-2 * H, nodes=("n1",)), job("four", "a", 1, 1, 4), nodes=(4, 4)
    )
    _, of = played(asked, terms())
    assert told(of["there"]) == [(-2, 3, "done")]
    assert told(of["four"]) == [(1, 2, "done")]


def test_a_machine_that_takes_no_pods_keeps_its_own_and_one_that_goes_takes_them_with_it() -> None:
    asked = past(
        job("stays", "a", 0, 9),
        job("waits", "a", 2, 1),
        turns=(
            Turn(H, "n0", open=False),
            Turn(4 * H, "n0", open=True),
            Turn(6 * H, "n0", open=False, gone=True),
        ),
    )
    world, of = played(asked, terms())
    assert told(of["waits"]) == [(4, 5, "done")]
    assert told(of["stays"]) == [(0, 6, "lost")]
    assert world.spaces[POOL].down_pms == (3 * 3 + 4 * 18) * G * H


IDLE = ({"kinds": ("Job",), "warn": "1h", "again": "2h", "take": "3h"},)


def test_what_stands_idle_is_taken_and_asks_again_when_it_computed_again() -> None:
    asked = job("a", "a", 0, 20, idle=((2 * H, 10 * H),))
    world, of = played(past(asked), terms(acting=ACT, idle=IDLE))
    assert told(of["a"]) == [(0, 5, "idle"), (10, 20, "done")]
    mine = figures(world, 24 * H)[-1]
    assert (mine.reclaimed, mine.reclaimed_pms, mine.idle_pms, mine.lost_pms) == (1, 5 * H * G, 3 * H * G, 0)


def test_what_is_idle_to_its_end_does_not_come_back() -> None:
    _, of = played(past(job("a", "a", 0, 20, idle=((2 * H, 20 * H),))), terms(acting=ACT, idle=IDLE))
    assert told(of["a"]) == [(0, 5, "idle")]
    assert of["a"].waits_since_ms is None


@pytest.mark.parametrize("why", ["shadow", "untouchable", "another kind", "too short"])
def test_who_is_not_taken_for_idleness(why: str) -> None:
    ends = 4 if why == "too short" else 10
    asked = job("a", "a", 0, 20, idle=((2 * H, ends * H),), kind="Other" if why == "another kind" else "Job")
    made = terms(acting=None if why == "shadow" else ACT, idle=IDLE)
    _, of = played(past(asked), replace(made, untouchable={"a"}) if why == "untouchable" else made)
    assert told(of["a"]) == [(0, 20, "done")]


def test_in_business_hours_it_waits_for_the_evening_where_the_rule_says_so() -> None:
    rule = IDLE[0] | {"in_business_hours": False}
    asked = job("a", "a", 6, 40, idle=((2 * H, 40 * H),))  # due at 11:00 on a Thursday, 1 January 1970
    _, of = played(past(asked, hours=48), terms(acting=ACT, idle=(rule,)))
    assert told(of["a"]) == [(6, 18, "idle")]


def test_limits_of_the_policy_hold() -> None:
    three = [job(f"a{n}", "a", 0, 20, idle=((0, 20 * H),)) for n in range(3)]
    acting = {"mode": "act", "a_cycle": 1, "an_hour": 1, "team_an_hour": 1, "pool_share_a_day": "0.5"}
    _, of = played(past(*three), terms(acting=acting, idle=IDLE, grace="1m"))
    # One an hour; the third would be more than half of four GPUs in a day.
    assert sorted(story.runs[0].ended_ms // MINUTE_MS for story in of.values()) == [181, 241, 1200]


def test_where_more_must_stop_than_a_cycle_allows_nobody_does() -> None:
    two = [job(f"a{n}", "a", 0, 20, 2) for n in range(2)]
    asked = past(*two, job("owner", "b", 5, 1, 4))
    _, of = played(asked, terms(promise("b", 4), acting=ACT | {"a_cycle": 1}))
    assert told(of["owner"]) == [(20, 21, "done")]


def test_gpus_do_not_go_round_in_circles() -> None:
    asked = past(job("a", "a", 0, 8, 4), job("b", "b", 1, 8, 4), hours=48)
    both = terms(promise("a", 0), promise("b", 4), acting=ACT, minimum_runtime="1m", back_off="1m")
    _, of = played(asked, both)
    assert told(of["a"]) == [(0, 1, "preempted"), (9, 17, "done")]


def test_nobody_borrows_while_an_owner_waits_for_a_minimum_runtime() -> None:
    asked = past(job("young", "a", 0, 9, 3), job("owner", "b", 0.05, 1, 2), job("small", "c", 0.1, 9, 1))
    _, of = played(asked, terms(promise("a", 2), promise("b", 2), acting=ACT, minimum_runtime="10m"))
    assert of["owner"].runs[0].begun_ms == 10 * MINUTE_MS
    assert of["small"].runs[0].begun_ms >= 10 * MINUTE_MS


def test_what_is_borrowed_alone_gives_way_before_what_is_borrowed_in_part() -> None:
    # By work lost the two of an hour come first; one of them is within the guarantee.
    asked = past(
        job("in part", "a", 0, 20, 2),
        job("alone", "c", -1, 20, 2, begun_ms=-5 * H, nodes=("n0",)),
        job("o", "b", 1, 1, 2),
    )
    _, of = played(asked, terms(promise("a", 1), promise("b", 2), acting=ACT))
    assert [uid for uid, story in of.items() if story.runs[0].how == "preempted"] == ["alone"]


def test_of_a_team_the_larger_one_is_taken_last_so_that_both_may_be() -> None:
    asked = past(
        job("one", "a", 0, 20, 1), job("two", "a", 0, 20, 2), job("owner", "b", 1, 1, 4), nodes=(4, 1)
    )
    _, of = played(asked, terms(promise("a", 1), promise("b", 4), acting=ACT))
    assert of["owner"].runs[0].begun_ms == H
