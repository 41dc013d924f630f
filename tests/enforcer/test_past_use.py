"""Past borrowing in plans: read from the rolled-up hours as of the plan's instant, where the policy says so."""

from typing import Any

import polars as pl
import pytest

from enforcer import shadow
from enforcer.replay import replay
from enforcer.shadow import Ruling, make
from enforcer.snapshot import Snapshot
from quartermaster.clock import HOUR_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.enforcer.past import CLUSTER, Past, h
from tests.enforcer.test_shadow import now, trained
from tests.findings import scene as noticed
from tests.usage.toy import insert

REMEMBERED = {"past_use": {"half_life": "1h"}}


def _borrowed(connection: Any, *hours: int) -> None:
    rows = [
        {
            "cluster": CLUSTER, "pool": "p", "team": "vision", "row_start_at": h(hour), "row_end_at": h(hour + 1),
            "borrowed_pms": 3 * GPU_PARTS * HOUR_MS,
        }
        for hour in hours
    ]  # fmt: skip
    connection.execute("delete from quota_hourly")
    insert(connection, "quota_hourly", pl.DataFrame(rows))


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What vision is remembered with in each plan that is made, in parts."""
    seen: list[int] = []
    plan = shadow.plan

    def watched(snapshot: Snapshot, *others: Any) -> Any:
        seen.extend(each.remembered_parts for each in snapshot.promises if each.team == "vision")
        return plan(snapshot, *others)

    monkeypatch.setattr(shadow, "plan", watched)
    return seen


@pytest.mark.parametrize(("policy", "expected"), [(REMEMBERED, 3 * GPU_PARTS // 2), ({}, 0)])
@pytest.mark.patient
def test_a_shadow_plan_remembers_it_where_the_policy_says_so(
    planned: list[int], policy: dict[str, Any], expected: int
) -> None:
    told = trained()
    now(told)
    planned.clear()
    connection = noticed._CONNECTION
    _borrowed(
        connection, 5
    )  # the last hour of six; half an hour old, it weighs 3/4, of 3/2 that all the past weighs
    ruling = Ruling(PolicyPart.model_validate(policy), FindingsPart(), "UTC")
    assert isinstance(make(connection, CLUSTER, h(6), ruling), shadow.Shadow)
    assert planned == [expected]


def test_a_replayed_plan_knows_of_nothing_that_came_later(planned: list[int]) -> None:
    connection = Past(8).told()
    _borrowed(connection, 3)
    ruling = Ruling(PolicyPart.model_validate(REMEMBERED), FindingsPart(), "UTC")
    replay(connection, CLUSTER, (h(2), h(6)), ruling)
    assert [parts * 4 // GPU_PARTS for parts in planned] == [0, 0, 6, 3, 1]
