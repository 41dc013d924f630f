"""Teams in departments, drawn at random, and small words for the tables of cases."""

from hypothesis import strategies as st

from quartermaster.fairshare.entitlement import Entitlement
from quartermaster.parts import GPU_PARTS


def team(name: str, ask: float = 0, promised: float = 0, **more: int | None) -> Entitlement:
    """A team whose amounts are GPUs."""
    limit = more.pop("limit", None)
    past = more.pop("past", 0) or 0
    return Entitlement(
        name,
        guarantee_parts=round(promised * GPU_PARTS),
        request_parts=round(ask * GPU_PARTS),
        limit_parts=None if limit is None else limit * GPU_PARTS,
        remembered_parts=past * GPU_PARTS,
        **{key: value for key, value in more.items() if value is not None},
    )


def amounts(unit: int, most: int) -> st.SearchStrategy[int]:
    """Parts: mostly whole units, sometimes with a rest."""
    return st.builds(
        lambda units, rest: units * unit + rest,
        st.integers(0, most),
        st.sampled_from((0, 0, 0, unit // 2, unit - 1)),
    )


def teams(unit: int, most: int, count: int, names: str = "abcdefgh") -> st.SearchStrategy[list[Entitlement]]:
    """Up to `count` teams with different names."""
    one = st.builds(
        Entitlement,
        name=st.sampled_from(names),
        guarantee_parts=amounts(unit, most),
        limit_parts=st.none() | amounts(unit, most + 2),
        weight=st.integers(1, 5),
        priority=st.integers(0, 2),
        request_parts=amounts(unit, most + 2),
        remembered_parts=st.sampled_from((0, 0, unit, 3 * unit // 2)),
    )
    return st.lists(one, min_size=1, max_size=count, unique_by=lambda each: each.name)


def departments(unit: int, most: int) -> st.SearchStrategy[list[Entitlement]]:
    """Departments of teams; the names of their teams differ from one department to the next."""
    one = st.builds(
        lambda name, stated, limit, weight, priority, members: Entitlement(
            name,
            guarantee_parts=stated,
            limit_parts=limit,
            weight=weight,
            priority=priority,
            members=tuple(
                Entitlement(
                    f"{name}-{each.name}",
                    each.guarantee_parts,
                    each.limit_parts,
                    each.weight,
                    each.priority,
                    each.request_parts,
                    each.remembered_parts,
                )
                for each in members
            ),
        ),
        st.sampled_from(("x", "y", "z")),
        st.just(0) | amounts(unit, most),
        st.none() | amounts(unit, 3 * most),
        st.integers(1, 4),
        st.integers(0, 1),
        teams(unit, most, 3),
    )
    return st.lists(one, min_size=1, max_size=3, unique_by=lambda each: each.name)
