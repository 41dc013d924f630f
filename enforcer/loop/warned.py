"""Warnings of a site: begun where the guard lets them, and seen on the cluster once a channel took them."""

from collections.abc import Mapping, Sequence
from functools import partial

from enforcer.act.served import NoWay
from enforcer.act.wire import Silence
from enforcer.guard.judge import Judgement
from enforcer.idleness import Findings
from enforcer.ladder.onsite import annotation, event
from enforcer.ladder.rung import rungs
from enforcer.ladder.warner import Warned
from enforcer.loop.site import Site
from enforcer.plan import Act
from enforcer.snapshot import Snapshot


class Warnings:
    """Of one site."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def settle(self, *, all_of_it: bool = False) -> None:
        """Record what the channels took since, and show it on the cluster. With `all_of_it` they are waited for."""
        self._on_the_cluster(self._site.warner.settle(self._site.wall(), all_of_it=all_of_it))

    def begin(self, snapshot: Snapshot, findings: Findings, judged: Judgement) -> Mapping[str, str]:
        """Begin the warnings that are due; whose has to wait, and why, by UID. Raises LedgerError."""
        site = self._site
        if not site.leader.epoch:
            return {}
        allowed = [action for group in judged.allowed for action in group if action.act is Act.WARN]
        wanted = rungs(allowed, snapshot, findings)
        held = site.warner.begin(wanted, site.ruling.policy, site.ruling.zone, site.wall())
        return {each.uid: each.words for each in held}

    def _on_the_cluster(self, warned: Sequence[Warned]) -> None:
        """What cannot be put there is missed by nobody: the message was accepted, and is what counts."""
        site = self._site
        epoch = site.leader.epoch
        for each in warned if epoch else ():
            workload = each.rung.workload
            try:
                path = site.doing.served.path(workload.kind, workload.namespace, workload.name)
                seen = site.doing.hands.look(path)
            except (NoWay, Silence):
                continue
            if seen is not None and seen["metadata"]["uid"] == workload.uid:
                may = partial(site.gate.may, epoch)
                site.doing.hands.do(annotation(each.rung, path, seen, each.at_ms), may)
                site.doing.hands.do(event(each.rung, each.message, seen, each.at_ms), may)
