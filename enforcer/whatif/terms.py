"""Terms: under what a past is played again: promises, the policy, and what follows from it for each workload."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from enforcer.idleness import at_work
from enforcer.snapshot import Promise
from enforcer.whatif.asked import Asked
from quartermaster.clock import to_datetime
from quartermaster.config.policy import IdleRulePart, PolicyPart


@dataclass(frozen=True)
class Terms:
    """One policy. `untouchable` are the UIDs of those that it takes from nobody."""

    name: str
    policy: PolicyPart
    zone: ZoneInfo
    promises: tuple[Promise, ...] = ()
    untouchable: Collection[str] = ()

    @property
    def takes(self) -> bool:
        """Whether anything is taken from anybody: in shadow nothing is."""
        return self.policy.acting.mode != "shadow"

    def due_ms(self, asked: Asked, begun_ms: int, before_ms: int = 0) -> list[tuple[int, int]]:
        """When its idle stretches have it taken if it begins then, `before_ms` of its run being over already.

        Each with how far into the whole run the stretch ends. Warnings count as sent in time.
        """
        rule = self.policy.idle_rule(asked.kind, serving=asked.serving)
        if rule is None or rule.take_ms is None or not self.takes or asked.uid in self.untouchable:
            return []
        found: list[tuple[int, int]] = []
        for start, end in asked.idle:
            if end <= before_ms:
                continue
            since_ms = begun_ms + max(start - before_ms, self.policy.grace_ms)
            at_ms = self._off_hours(since_ms + rule.take_ms, rule)
            if asked.spared_until_ms <= at_ms < begun_ms + end - before_ms:
                found.append((at_ms, end))
        return found

    def _off_hours(self, at_ms: int, rule: IdleRulePart) -> int:
        """Then or, where the rule takes nobody in business hours, when these are over."""
        hours = self.policy.business_hours
        if rule.in_business_hours or not at_work(hours, at_ms, self.zone):
            return at_ms
        local: datetime = to_datetime(at_ms).astimezone(self.zone)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return int((midnight + timedelta(minutes=hours.end_minute)).timestamp() * 1000)
