"""Groups: the pods of each workload, and the owners of it that lack some, by the workload's UID."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from collector.kubernetes.demand import QUEUE_LABEL
from collector.kubernetes.owners import USER_LABELS, Chain, Subject, workload_of
from collector.kubernetes.settings import Settings
from enforcer.live.owners import Known
from enforcer.live.scene import Scene
from enforcer.live.seen import PREFIX, Seen
from enforcer.live.selector import Labels


@dataclass
class Group:
    """One workload. `owner` is its top owner, None where it is not known as a whole: then nobody stops it."""

    uid: str
    kind: str
    namespace: str
    name: str
    owner: Known | None
    complete: bool  # all its owners are known that may be
    queued: bool  # a queue system starts and stops it
    above: tuple[Known, ...] = ()  # every owner of it that is known
    pods: list[Seen] = field(default_factory=list[Seen])
    makers: list[Known] = field(default_factory=list[Known])

    @property
    def wishes(self) -> list[Mapping[str, str]]:
        """What its people wrote on it: our annotations and labels, of its owners and its pods."""
        told = {each.notes for each in self.above} | {each.notes for each in self.pods}
        told |= {_ours(each.labels) for each in self.above} | {_ours(each.labels) for each in self.pods}
        return [dict(each) for each in sorted(told) if each]


def gather(scene: Scene) -> dict[str, Group]:
    """The groups of all pods that are there, and of owners of GPU pods that lack some."""
    groups = _Groups(scene)
    of_owner: dict[str, list[Seen]] = {}
    for pod in scene.pods.values():
        of_owner.setdefault(pod.owner.uid if pod.owner else pod.uid, []).append(pod)
    for pods in of_owner.values():
        pods.sort(key=_by_age)
        first = pods[0]
        subject = Subject(first.namespace, first.name, first.uid, dict(first.labels), {}, 0)
        groups.of(subject, scene.chain(first.owner)).pods += pods
    for each in scene.known.values():
        if each.lack is not None and (each.lack.missing or each.stopped):
            subject = _subject(each)
            groups.of(subject, scene.chain(each.reference)).makers.append(each)
    for each in scene.queued.values():
        if each.lack is not None and each.lack.missing and each.controller is not None:
            groups.of(_subject(each), scene.chain(each.controller)).makers.append(each)
    for group in groups.found.values():
        group.pods.sort(key=_by_age)
        group.makers.sort(key=lambda each: each.reference.uid)
    return groups.found


class _Groups:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._queued = {each.controller.uid for each in scene.queued.values() if each.controller is not None}
        self.found: dict[str, Group] = {}

    def of(self, subject: Subject, chain: Chain) -> Group:
        workload = workload_of(subject, chain.owners, self._scene.settings)
        uid = workload.uid or str(workload.workload_id)
        above = [known for each in chain.owners if (known := self._scene.known.get(each.uid)) is not None]
        group = self.found.get(uid)
        if group is None:
            owner = self._scene.known.get(uid)
            group = self.found[uid] = Group(
                uid,
                workload.kind,
                workload.namespace,
                workload.name,
                owner if owner is not None and owner.version and chain.missing is None else None,
                chain.missing is None,
                queued=False,
            )
        group.above = tuple({each.reference.uid: each for each in (*group.above, *above)}.values())
        group.complete = group.complete and chain.missing is None
        group.queued = group.queued or any(
            each.reference.uid in self._queued or dict(each.labels).get(QUEUE_LABEL) for each in above
        )
        return group


def without_people(labels: Labels, settings: Settings) -> dict[str, str]:
    """The labels without those whose value is a person's name, as the ledger has them."""
    hidden = {*settings.user_labels, *USER_LABELS}
    return {key: value for key, value in labels if key not in hidden}


def counted(pods: Iterable[Seen]) -> bool:
    """Whether any of them asks for GPUs."""
    return any(pod.asks_for_gpus for pod in pods)


def _subject(each: Known) -> Subject:
    return Subject(
        each.namespace, each.reference.name, each.reference.uid, dict(each.labels), {}, each.created_at or 0
    )


def _ours(labels: Labels) -> Labels:
    return tuple((key, value) for key, value in labels if key.startswith(PREFIX))


def _by_age(pod: Seen) -> tuple[int, str]:
    return pod.created_at or 0, pod.uid
