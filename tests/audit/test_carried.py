"""What was carried out, as a snapshot has it: in vain, or short of what its group was to free."""

import pytest

from enforcer.audit.carried import Carried, as_takings
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.plan import Act


def _stop(uid: str, group: int, result: str, at_ms: int = 5) -> Carried:
    deed = Deed("c", at_ms, Phase.INTENT, Act.STOP, "plan", group=group, object_uid=uid, for_uid="q")
    return Carried(1, "hash", deed, result)


@pytest.mark.parametrize("result", [Result.FAILED, Result.ABANDONED, Result.NO_EFFECT, Result.UNDONE])
def test_where_one_of_a_group_did_not_go_less_was_freed_than_was_meant(result: Result) -> None:
    told = as_takings([_stop("a", 1, Result.DONE), _stop("b", 1, result), _stop("c", 2, Result.DONE)])
    assert {each.uid: each.short for each in told if each.uid != "b"} == {"a": True, "c": False}


def test_a_group_of_which_nothing_is_told_yet_counts_as_gone_whole() -> None:
    told = as_takings([_stop("a", 1, ""), _stop("b", 1, Result.DONE, at_ms=3)])
    assert [(each.uid, each.at_ms, each.in_vain, each.short) for each in told] == [
        ("a", 3, False, False), ("b", 3, False, False),
    ]  # fmt: skip
