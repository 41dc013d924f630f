"""What of a turn is told in the audit beside what was done: what the guard refused, and what was answered."""

from analytics.asking.request import Kind
from enforcer.audit.deed import Deed, Phase
from enforcer.audit.requests import unanswered
from enforcer.guard.judge import Judgement
from enforcer.guard.refused import Refused
from enforcer.guard.standing import Approval
from enforcer.loop.site import Site
from enforcer.plan import Action, Plan


class Teller:
    """Of one site, for as long as its process lives."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._refused: dict[tuple[str, str, str], str] = {}  # what was told of each, so that it is told once

    def refusals(self, made: Plan, judged: Judgement) -> None:
        """What the guard refuses stands in the audit once for as long as the reason is the same."""
        now: dict[tuple[str, str, str], str] = {}
        deeds: list[Deed] = []
        for group, refused in judged.refused:
            for action in group:
                key = action.target.uid, action.act.value, action.for_uid
                now[key] = refused.reason.value
                if self._refused.get(key) != refused.reason.value:
                    deeds.append(self._refusal(made, action, refused))
        if deeds and self._site.leader.epoch:
            self._site.chain.write(deeds)
            self._refused = now
        elif not deeds:
            self._refused = now

    def _refusal(self, made: Plan, action: Action, refused: Refused) -> Deed:
        target = action.target
        return Deed(
            self._site.cluster,
            self._site.wall(),
            Phase.REFUSED,
            action.act.value,
            made.hash,
            made.actions.index(action),
            action.group,
            target.kind,
            target.namespace,
            target.name,
            target.uid,
            target.version,
            target.team,
            target.pool,
            action.for_uid,
            action.frees_parts,
            action.cause.value,
            epoch=self._site.leader.epoch,
            actor=self._site.leader.identity,
            result=refused.reason.value,
            words=refused.words,
        )

    def approval(self, made: Plan, approval: Approval, epoch: int) -> tuple[Deed, ...]:
        site = self._site
        with site.ledger.reading() as cursor:
            still = any(
                each.request_id == approval.request_id
                for each in unanswered(cursor, site.cluster, [Kind.APPROVE])
            )
        if not still:
            return ()
        deed = Deed(
            site.cluster,
            site.wall(),
            Phase.ANSWERED,
            Kind.APPROVE.value,
            made.hash,
            actor=approval.by,
            epoch=epoch,
            words="it was carried out as far as the guard let it",
            request_id=approval.request_id,
        )
        site.chain.write([deed])
        return (deed,)
