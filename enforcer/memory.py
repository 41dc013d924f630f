"""Memory: what shadow plans would have done so far, so that the next goes on from there: warned and taken once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from enforcer.idleness import Findings, Idle, Notice
from enforcer.plan import Act, Plan
from enforcer.snapshot import Taking


@dataclass
class Memory:
    """Warnings that would have been sent and workloads that would have been taken, by UID."""

    notices: dict[str, list[Notice]] = field(default_factory=dict[str, list[Notice]])
    takings: dict[str, int] = field(default_factory=dict[str, int])

    def note(self, plan: Plan) -> None:
        """Remember what the plan would have done."""
        for each in plan.actions:
            self._note(each.target.uid, each.act, each.stage, plan.at_ms)

    def recall(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Remember what is recorded: rows of sql/queries/enforce/remembered.sql, in order of time."""
        for row in rows:
            self._note(row["uid"], row["act"], row["stage"], row["at_ms"])

    def as_takings(self) -> tuple[Taking, ...]:
        """For a snapshot."""
        return tuple(Taking(uid, "", at_ms) for uid, at_ms in self.takings.items())

    def hear(self, findings: Findings, computed_ms: Mapping[str, int]) -> Findings:
        """The findings with the warnings that would have been sent, without those whom a plan has taken already.

        In truth they were not taken and may stand idle still: each counts again when it was seen to compute since, by
        `computed_ms`, which has when each UID was last.
        """
        return Findings(
            tuple(
                Idle(
                    each.uid,
                    each.since_ms,
                    each.evidence,
                    each.doubts,
                    (*each.notices, *self.notices.get(each.uid, ())),
                    each.keep_until_ms,
                )
                for each in findings.idle
                if each.uid not in self.takings or computed_ms.get(each.uid, -1) >= self.takings[each.uid]
            ),
            findings.computing,
        )

    def _note(self, uid: str, act: str, stage: str, at_ms: int) -> None:
        if act == Act.WARN:
            self.notices.setdefault(uid, []).append(Notice(stage, at_ms))
        elif act == Act.STOP:
            self.takings[uid] = at_ms
            self.notices.pop(uid, None)
