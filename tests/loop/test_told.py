"""What is told in the audit: each refusal once for as long as its reason is the same, and by who leads alone."""

from dataclasses import replace

import pytest

from enforcer.audit.carried import carried
from enforcer.audit.deed import Phase
from enforcer.guard.judge import Judgement
from enforcer.guard.refused import Reason, Refused
from enforcer.idleness import Findings
from enforcer.loop.told import Teller
from enforcer.plan import Plan
from enforcer.planner import plan
from sql.ledger import Ledger
from tests.enforcer.clusters import UTC
from tests.guard.cases import rules
from tests.loop.sites import Stage


class Audit:
    """A stage, a plan of it, and who tells of it."""

    def __init__(self, ledger: Ledger, cluster: str) -> None:
        self.ledger = ledger
        self.stage = Stage(ledger, cluster)
        self.plan: Plan = plan(self.stage.snapshot, Findings(), rules(), UTC)
        self.teller = Teller(self.stage.site)

    def refuse(self, reason: Reason | None, words: str = "1") -> None:
        """The plan's first group is refused, or nothing is."""
        group = tuple(each for each in self.plan.actions if each.group == self.plan.actions[0].group)
        refused = () if reason is None else ((group, Refused(reason, words)),)
        self.teller.refusals(self.plan, Judgement((), refused))

    def told(self) -> list[str]:
        with self.ledger.reading() as cursor:
            found = carried(cursor, self.stage.site.cluster, phases=[Phase.REFUSED])
        return [each.deed.result for each in found if each.deed.act == "stop"]


@pytest.mark.patient
def test_once_for_as_long_as_the_reason_is_the_same(shared: Ledger, cluster: str) -> None:
    audit = Audit(shared, cluster)
    for words in ("1", "2", "3"):
        audit.refuse(Reason.FROZEN, words)
        audit.stage.clocks.go_on(1000)
    assert audit.told() == [Reason.FROZEN.value]
    audit.refuse(Reason.STALE)
    audit.stage.clocks.go_on(1000)
    audit.refuse(Reason.FROZEN)
    assert audit.told() == [Reason.FROZEN.value, Reason.STALE.value, Reason.FROZEN.value]


def test_again_when_it_was_not_refused_between(shared: Ledger, cluster: str) -> None:
    audit = Audit(shared, cluster)
    for reason in (Reason.FROZEN, None, Reason.FROZEN):
        audit.refuse(reason)
        audit.stage.clocks.go_on(1000)
    assert audit.told() == [Reason.FROZEN.value] * 2


def test_who_does_not_lead_tells_nothing_and_who_leads_then_does(shared: Ledger, cluster: str) -> None:
    audit = Audit(shared, cluster)
    audit.stage.leader.epoch = 0
    audit.refuse(Reason.FROZEN)
    assert audit.told() == []
    audit.stage.leader.epoch = 4
    audit.refuse(Reason.FROZEN)
    assert audit.told() == [Reason.FROZEN.value]
    with shared.reading() as cursor:
        (first, *_) = carried(cursor, cluster, phases=[Phase.REFUSED])
    assert first.deed.epoch == 4


def test_a_hostile_name_is_told_as_it_is_and_cut(shared: Ledger, cluster: str) -> None:
    audit = Audit(shared, cluster)
    name = "x\x00\x1b[31m'); drop table deeds;--" + "y" * 2000
    actions = tuple(replace(each, target=replace(each.target, name=name)) for each in audit.plan.actions)
    audit.plan = replace(audit.plan, actions=actions)
    audit.refuse(Reason.FROZEN)
    with shared.reading() as cursor:
        (first, *_) = carried(cursor, cluster, phases=[Phase.REFUSED])
    assert first.deed.name.startswith("x\N{REPLACEMENT CHARACTER}\x1b[31m'); drop table deeds;--y")
    assert len(first.deed.name) == 1000
