"""Teams and departments drawn at random, and a short way to write one down in GPUs."""

from hypothesis import strategies as st

from quartermaster.fairshare.entitlement import Entitlement
from quartermaster.parts import GPU_PARTS


def team(
    name: str,
    ask: float = 0,
    promised: float = 0,
    *,
    limit: int | None = None,
    weight: int = 1,
    priority: int = 0,
    past: int = 0,
) -> Entitlement:
    """A team whose amounts are GPUs."""
    return Entitlement(
        name,
        guarantee_parts=round(promised * GPU_PARTS),
        limit_parts=None if limit is None else limit * GPU_PARTS,
        weight=weight,
        priority=priority,
        request_parts=round(ask * GPU_PARTS),
        remembered_parts=past * GPU_PARTS,
    )


@st.composite
def amounts(draw: st.DrawFn, unit: int, most: int) -> int:
    """Parts: mostly whole units, sometimes with a rest."""
    return draw(st.integers(0, most)) * unit + draw(st.sampled_from((0, 0, 0, unit // 2, unit - 1)))


def teams(unit: int, most: int, count: int, prefix: str = "") -> st.SearchStrategy[list[Entitlement]]:
    """Up to `count` teams with different names."""
    one = st.builds(
        Entitlement,
        name=st.sampled_from([prefix + letter for letter in "abcdefgh"]),
        guarantee_parts=amounts(unit, most),
        limit_parts=st.none() | amounts(unit, most + 2),
        weight=st.integers(1, 5),
        priority=st.integers(0, 2),
        request_parts=amounts(unit, most + 2),
        remembered_parts=st.sampled_from((0, 0, unit, 3 * unit // 2)),
    )
    return st.lists(one, min_size=1, max_size=count, unique_by=_name)


@st.composite
def departments(draw: st.DrawFn, unit: int, most: int) -> list[Entitlement]:
    """Up to three departments of teams; the names of their teams differ from one department to the next."""
    return [
        Entitlement(
            name,
            guarantee_parts=draw(st.just(0) | amounts(unit, most)),
            limit_parts=draw(st.none() | amounts(unit, 3 * most)),
            weight=draw(st.integers(1, 4)),
            priority=draw(st.integers(0, 1)),
            members=tuple(draw(teams(unit, most, 3, f"{name}-"))),
        )
        for name in draw(st.sampled_from((["x"], ["x", "y"], ["z", "x", "y"])))
    ]


def _name(each: Entitlement) -> str:
    return each.name
