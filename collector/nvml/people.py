"""From an owner to its workload and allocation: names that may stand in the ledger, people as pseudonyms; pure."""

import json
from dataclasses import dataclass

from collector.nvml.claims import NOBODY_KNOWS
from collector.nvml.look import Look, User
from collector.nvml.owner import CONTAINER, JOB, POD, UNIT, USER, Owner, short
from collector.nvml.settings import Settings
from quartermaster.ids import content_id
from quartermaster.person import person_id
from quartermaster.records import Allocation, Workload
from quartermaster.team import user_pattern_ids

# What a workload of each kind of owner is called: namespace, API group and kind.
_KINDS = {
    JOB: ("slurm", "slurm", "Job"),
    CONTAINER: ("container", "", "Container"),
    POD: ("pod", "", "Pod"),
    UNIT: ("session", "systemd", "Session"),
    USER: ("process", "", "Process"),
    NOBODY_KNOWS.kind: ("unknown", "", "Unknown"),
}


@dataclass(frozen=True, slots=True)
class People:
    """Tells whose things are, by the settings' rules and key."""

    settings: Settings

    def allocation(
        self, owner: Owner, process: str, look: Look, start_ms: int
    ) -> tuple[Workload, Allocation]:
        """What the owner holds from an instant on, first seen now; `process` is what its first process is called.

        No user's name or number stands in either: the person is a pseudonym, and of the patterns of team rules
        those are kept that the user's name and groups match.
        """
        settings, user = self.settings, self._user(owner, look)
        person = None if user is None else person_id(settings.person_key, user.name)
        name = _name(owner, process)
        # A session's name is given anew at each boot, a process' to anybody.
        boot = look.boot_id if owner.kind in {UNIT, USER} else ""
        key = (settings.cluster, settings.source, owner.kind, owner.name, name, boot, person)
        namespace, api_group, kind = _KINDS[owner.kind]
        workload = Workload(
            cluster=settings.cluster,
            workload_id=content_id("workload", *key),
            start_at=start_ms,
            end_at=None,
            api_group=api_group,
            kind=kind,
            namespace=namespace,
            name=name,
            person_id=person,
        )
        return workload, Allocation(
            cluster=settings.cluster,
            allocation_id=content_id("allocation", *key, settings.node, start_ms),
            start_at=start_ms,
            started_at=start_ms,
            end_at=None,
            source=settings.source,
            workload_id=workload.workload_id,
            node=settings.node,
            namespace=namespace,
            pod=name,
            pod_uid=owner.name if owner.kind == POD else "",
            sure_start_at=look.at_ms,
            user_patterns=self.patterns(owner, look),
        )

    def patterns(self, owner: Owner, look: Look) -> str:
        """The ids of the rules' patterns that the owner's user, or one of the groups, matches; JSON."""
        user = self._user(owner, look)
        if user is None:
            return "[]"
        rules = self.settings.rules
        return json.dumps(user_pattern_ids(rules, unix_user=user.name, unix_groups=user.groups))

    def _user(self, owner: Owner, look: Look) -> User | None:
        return None if owner.uid < 0 else look.users.get(owner.uid, User(owner.uid, str(owner.uid)))


def _name(owner: Owner, process: str) -> str:
    if owner.kind == UNIT:
        return f"{process} ({owner.name})"
    return short(owner) or process or "unknown"
