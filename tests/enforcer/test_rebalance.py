"""Moving guarantees: within bounds, the total as it was, from who does not need to who does."""

from hypothesis import given
from hypothesis import strategies as st

from enforcer.rebalance import Use, propose
from quartermaster.config.policy import RebalancePart
from quartermaster.parts import GPU_PARTS

G = GPU_PARTS


def _bounds(*, floor: int = 0, ceiling: int = 64, step: int = 8, small: int = 0) -> RebalancePart:
    told = {"pool": "p", "floor": floor, "ceiling": ceiling, "step_a_week": step, "without_approval": small}
    return RebalancePart.model_validate(told)


def _use(team: str, promised: int, needed: int, moved: int = 0) -> Use:
    return Use(team, promised * G, needed * G, moved * G)


def _moves(*uses: Use, **bounds: int) -> dict[str, int]:
    proposal = propose(_bounds(**bounds), uses)
    return (
        {}
        if proposal is None
        else {move.team: (move.after_parts - move.before_parts) // G for move in proposal.moves}
    )


def test_from_who_does_not_need_to_who_does() -> None:
    assert _moves(_use("a", 16, 4), _use("b", 8, 12), _use("c", 8, 8)) == {"a": -4, "b": 4}


def test_nothing_where_nobody_needs_more_or_nobody_has_more() -> None:
    assert _moves(_use("a", 16, 4), _use("b", 8, 8)) == {}
    assert _moves(_use("a", 16, 16), _use("b", 8, 9)) == {}
    assert _moves() == {}


def test_no_further_than_the_bounds() -> None:
    assert _moves(_use("a", 16, 0), _use("b", 8, 32), step=5) == {"a": -5, "b": 5}
    assert _moves(_use("a", 16, 0), _use("b", 8, 32), step=9, floor=12) == {"a": -4, "b": 4}
    assert _moves(_use("a", 16, 0), _use("b", 8, 32), step=9, ceiling=16) == {"a": -8, "b": 8}


def test_what_was_moved_this_week_counts() -> None:
    assert _moves(_use("a", 16, 0, moved=5), _use("b", 8, 32)) == {"a": -3, "b": 3}
    assert _moves(_use("a", 16, 0), _use("b", 8, 32, moved=8)) == {}


def test_who_is_covered_least_gets_first() -> None:
    assert _moves(_use("a", 4, 0), _use("b", 1, 4), _use("c", 6, 8)) == {"a": -4, "b": 3, "c": 1}


def test_small_steps_need_no_approval_where_policy_says_so() -> None:
    uses = _use("a", 16, 12), _use("b", 8, 12)
    for small, expected in ((0, True), (3, True), (4, False)):
        proposal = propose(_bounds(small=small), uses)
        assert proposal is not None
        assert proposal.needs_approval is expected


def test_what_is_expected_is_said_in_numbers() -> None:
    proposal = propose(_bounds(), (_use("a", 16, 4), _use("b", 8, 12)))
    assert proposal is not None
    assert proposal.words() == (
        "Moving 4 GPUs in pool p covers 16 GPUs of what its teams needed by guarantees, instead of 12 GPUs."
    )
    assert [move.why for move in proposal.moves] == [
        "It needed 4 GPUs of the 16 GPUs that it is guaranteed.",
        "It needed 12 GPUs, 4 GPUs above its guarantee.",
    ]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.integers(0, 9)), max_size=8),
    st.integers(0, 10),
    st.integers(11, 40),
    st.integers(1, 10),
    st.permutations(range(8)),
)
def test_bounds_hold_and_the_total_stays(
    drawn: list[tuple[int, int, int]], floor: int, ceiling: int, step: int, order: list[int]
) -> None:
    uses = [_use(f"t{n}", *each) for n, each in enumerate(drawn)]
    bounds = _bounds(floor=floor, ceiling=ceiling, step=step)
    proposal = propose(bounds, uses)
    assert proposal == propose(bounds, [uses[n] for n in order if n < len(uses)])
    if proposal is None:
        return
    of = {each.team: each for each in uses}
    assert sum(move.after_parts - move.before_parts for move in proposal.moves) == 0
    assert proposal.covered_after_parts - proposal.covered_before_parts == proposal.moved_parts
    for move in proposal.moves:
        use, change = of[move.team], move.after_parts - move.before_parts
        assert change % G == 0
        assert abs(change) + use.moved_parts <= step * G
        assert change > 0 or move.after_parts >= max(floor * G, use.needed_parts)
        assert change < 0 or move.after_parts <= min(ceiling * G, use.needed_parts)
