"""The scheduler: guarantees first, spare GPUs to those who wait, reclaim of no more than it takes."""

from hypothesis import given
from hypothesis import strategies as st

from quartermaster.parts import GPU_PARTS
from simulator.scheduler import Ask, Quota, Running, decide, place

GPU = GPU_PARTS


def ask(gang: int, team: str, gpus: int, pods: int = 1, **more: bool) -> Ask:
    return Ask(
        gang, team, pods, gpus // pods, "gpu", gpus * GPU, gang, preemptible=more.get("preemptible", True)
    )


def running(gang: int, team: str, *places: tuple[str, int], **more: bool) -> Running:
    gpus = sum(slots for _, slots in places)
    preemptible, terminating = more.get("preemptible", True), more.get("terminating", False)
    return Running(gang, team, "gpu", gpus * GPU, gang, places, preemptible, terminating)


def free(**slots: int) -> dict[tuple[str, str], int]:
    return {(node, "gpu"): count for node, count in slots.items()}


def quotas(**gpus: int) -> dict[str, Quota]:
    return {team: Quota(count * GPU) for team, count in gpus.items()}


def test_an_owner_is_bound_where_there_is_room_on_the_fullest_node():
    decision = decide([ask(1, "a", 2)], [], free(n1=8, n2=3), quotas(a=8))
    assert decision.bind == {1: ("n2",)}
    assert not decision.reclaim
    assert not decision.waits


def test_a_gang_is_bound_as_a_whole_or_not_at_all():
    decision = decide([ask(1, "a", 16, pods=2)], [], free(n1=8, n2=7), quotas(a=16))
    assert not decision.bind
    assert "16 GPUs asked within the guarantee" in decision.waits[1]


def test_spare_gpus_are_lent_to_preemptible_work_alone():
    asks = [ask(1, "b", 2), ask(2, "b", 2, preemptible=False)]
    decision = decide(asks, [], free(n1=8), quotas(a=8))
    assert decision.bind == {1: ("n1",)}
    assert "only preemptible work may borrow" in decision.waits[2]


def test_an_owner_gets_its_guarantee_back_from_the_youngest_borrower():
    old, young = running(1, "b", ("n1", 4)), running(2, "b", ("n1", 4))
    decision = decide([ask(3, "a", 4)], [old, young], free(n1=0), quotas(a=4))
    assert decision.reclaim == [2]
    assert "borrowers are giving them back" in decision.waits[3]


def test_whose_room_does_not_help_is_spared():
    helps, useless = running(1, "b", ("n1", 8)), running(2, "b", ("n2", 2))
    decision = decide([ask(3, "a", 8)], [helps, useless], free(n1=0, n2=2), quotas(a=8))
    assert decision.reclaim == [1]


def test_who_is_going_already_is_waited_for():
    going = running(1, "b", ("n1", 8), terminating=True)
    other = running(2, "b", ("n2", 8))
    decision = decide([ask(3, "a", 8), ask(4, "b", 1)], [going, other], free(n1=0, n2=0, n3=1), quotas(a=8))
    assert not decision.reclaim
    assert not decision.bind, "a borrower took room while an owner waits"
    assert "owners come first" in decision.waits[4]


def test_an_owner_within_its_guarantee_is_never_taken_from():
    owner = running(1, "b", ("n1", 8))
    decision = decide([ask(2, "a", 8)], [owner], free(n1=0), quotas(a=8, b=8))
    assert not decision.reclaim
    assert "nobody who borrows can give them back" in decision.waits[2]


def test_a_limit_is_not_exceeded():
    decision = decide([ask(1, "b", 3)], [running(2, "b", ("n1", 2))], free(n1=6), {"b": Quota(0, 4 * GPU)})
    assert "above the limit of 4 GPUs" in decision.waits[1]


def test_spare_goes_first_to_the_least_above_its_guarantee():
    asks = [ask(1, "b", 2), ask(2, "c", 2)]
    decision = decide(asks, [running(3, "b", ("n1", 4))], free(n1=2), quotas(a=6))
    assert decision.bind == {2: ("n1",)}


Pool = tuple[list[Ask], list[Running], dict[tuple[str, str], int], dict[str, Quota]]
TEAMS = st.sampled_from(["a", "b", "c"])


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    nodes = draw(st.integers(1, 3))
    room = {f"n{n}": draw(st.sampled_from([4, 8])) for n in range(nodes)}
    gangs: list[Running] = []
    for gang in range(draw(st.integers(0, 6))):
        node = draw(st.sampled_from(sorted(room)))
        slots = draw(st.integers(1, 4))
        if room[node] >= slots:
            room[node] -= slots
            more = {"preemptible": draw(st.booleans()), "terminating": draw(st.booleans())}
            gangs.append(running(gang, draw(TEAMS), (node, slots), **more))
    asks = [
        ask(
            100 + n,
            draw(TEAMS),
            2 * draw(st.integers(1, 4)),
            draw(st.sampled_from([1, 2])),
            preemptible=draw(st.booleans()),
        )
        for n in range(draw(st.integers(1, 5)))
    ]
    promised = {team: Quota(draw(st.integers(0, 8)) * GPU, weight=draw(st.integers(1, 3))) for team in "ab"}
    return asks, gangs, free(**room), promised


@given(pools())
def test_no_pass_breaks_a_promise(pool: Pool):
    asks, gangs, room, promised = pool
    decision = decide(asks, gangs, room, promised)
    by_gang = {gang.gang: gang for gang in gangs}
    left = dict(room)
    held: dict[str, int] = {}
    for gang in gangs:
        if not gang.terminating:
            held[gang.team] = held.get(gang.team, 0) + gang.parts
    before = dict(held)
    for number in decision.reclaim:
        victim = by_gang[number]
        assert victim.preemptible
        assert not victim.terminating
        assert before[victim.team] > promised.get(victim.team, Quota()).guaranteed_parts
    for waiting in asks:
        assert (waiting.gang in decision.bind) != (waiting.gang in decision.waits)
        for node in decision.bind.get(waiting.gang, ()):
            left[node, "gpu"] -= waiting.slots_a_pod
        if waiting.gang in decision.bind and not waiting.preemptible:
            # Only who may be preempted is bound beyond the guarantee, whenever in the pass that was.
            held[waiting.team] = held.get(waiting.team, 0) + waiting.parts
            assert held[waiting.team] <= promised.get(waiting.team, Quota()).guaranteed_parts
    assert all(slots >= 0 for slots in left.values()), "bound where there was no room"


@given(pools())
def test_an_owner_waits_only_for_those_who_go_or_for_owners(pool: Pool):
    asks, gangs, room, promised = pool
    only = asks[0]
    held = sum(gang.parts for gang in gangs if gang.team == only.team and not gang.terminating)
    if held + only.parts > promised.get(only.team, Quota()).guaranteed_parts:
        return
    decision = decide([only], gangs, room, promised)
    if "nobody who borrows" not in decision.waits.get(only.gang, ""):
        return
    emptied = dict(room)
    in_team = {team: sum(g.parts for g in gangs if g.team == team and not g.terminating) for team in "abc"}
    for gang in sorted(gangs, key=lambda gang: -gang.bound_ms):
        borrows = in_team[gang.team] > promised.get(gang.team, Quota()).guaranteed_parts
        if gang.terminating or (gang.preemptible and borrows):
            in_team[gang.team] -= 0 if gang.terminating else gang.parts
            for node, slots in gang.places:
                emptied[node, "gpu"] += slots
    assert place(only, emptied) is None
