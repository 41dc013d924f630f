"""Groups: the pods of each workload, and the owners of it that lack some, by the workload's UID."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from collector.kubernetes.demand import QUEUE_LABEL
from collector.kubernetes.owners import USER_LABELS, Chain
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import instant_ms
from enforcer.act.way import Ways
from enforcer.live.owners import Known
from enforcer.live.scalers import Place, place_of
from enforcer.live.scene import Scene
from enforcer.live.seen import Seen
from enforcer.live.selector import Labels, labels_of
from enforcer.ways import way_down
from quartermaster.team import team_of


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
    in_queue: Known | None = None  # Kueue's one object for it, by which it is stopped
    scalers: tuple[Known, ...] = ()  # KEDA's objects that scale its owner
    above: tuple[Known, ...] = ()  # every owner of it that is known
    pods: list[Seen] = field(default_factory=list[Seen])
    makers: list[Known] = field(default_factory=list[Known])

    @cached_property
    def wishes(self) -> list[Mapping[str, str]]:
        """What its people wrote on it: our annotations and labels, of its owners and its pods."""
        told = {note for each in self.above for note in (each.notes, each.marks) if note}
        told |= {note for each in self.pods for note in (each.notes, each.marks) if note}
        return [dict(each) for each in sorted(told)]

    @property
    def patched(self) -> Known | None:
        """What is patched to stop it; None where that is not known, or is not one."""
        if self.queued:
            return self.in_queue
        if self.owner is None:
            return None
        if self.owner.reference.kind == "CronJob":
            return _one([each for each in self.above if _controls(self.owner, each)])
        return _one(self.scalers) if self.scalers else self.owner

    def way_down(self, ways: Ways) -> str:
        """How it is stopped; "" where nobody stops it."""
        owner = self.owner
        if owner is None:
            return ""
        scaled = bool(self.scalers)
        return way_down(ways, self.kind, group=owner.reference.group, queued=self.queued, scaled=scaled)

    def latest(self, note: str) -> int | None:
        """The latest instant that one of its notes states (epoch ms)."""
        told = (instant_ms(each.get(note)) for each in self.wishes)
        return max((at_ms for at_ms in told if at_ms is not None), default=None)


class Teams:
    """Whose pods are, by the rules in force at an instant; the same labels are looked at once."""

    def __init__(self, settings: Settings, at_ms: int) -> None:
        self._settings, self._at_ms = settings, at_ms
        self._known: dict[tuple[str, Labels, tuple[int, ...]], str] = {}

    def of(self, namespace: str, labels: Labels, user_patterns: tuple[int, ...]) -> str:
        """The team of pods with such labels."""
        key = namespace, labels, user_patterns
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = team_of(
                self._settings.rules,
                self._at_ms,
                cluster=self._settings.cluster,
                namespace=namespace,
                labels=without_people(labels, self._settings),
                user_patterns=user_patterns,
            )
        return known


def gather(scene: Scene) -> dict[str, Group]:
    """The groups of all pods that are there, and of owners of GPU pods that lack some."""
    groups = _Groups(scene)
    of_owner: dict[tuple[str, str], list[Seen]] = {}
    for pod in scene.pods.values():
        owner = pod.owner.uid if pod.owner else pod.uid
        of_owner.setdefault((pod.namespace, owner), []).append(pod)
    for pods in of_owner.values():
        pods.sort(key=_by_age)
    for pods in sorted(of_owner.values(), key=lambda pods: _by_age(pods[0])):
        chain = scene.chain(pods[0].owner, pods[0].namespace)
        for some in [pods] if chain.owners else [[pod] for pod in pods]:
            first = some[0]
            place = first.namespace, first.name, first.uid
            groups.of(place, first.labels, chain).pods += some
    for each in sorted(scene.known.values(), key=_uid):
        if each.lack is not None and (each.lack.missing or each.stopped or groups.is_paused(each)):
            chain = scene.chain(each.reference, each.namespace)
            groups.of(_place(each), _labels(each), chain).makers.append(each)
    for each in sorted(scene.queued.values(), key=_uid):
        chain = scene.chain(each.controller, each.namespace)
        if each.lack is not None and each.lack.missing and chain.owners:
            groups.of(_place(each), _labels(each), chain).makers.append(each)
    for group in groups.found.values():
        group.pods.sort(key=_by_age)
    return groups.found


class _Groups:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._queued: dict[str, list[Known]] = {}
        for each in scene.queued.values():
            chain = scene.chain(each.controller, each.namespace)
            if chain.owners:
                self._queued.setdefault(chain.owners[0].uid, []).append(each)
        self._scalers: dict[Place, list[Known]] = {}
        for scaler in scene.scalers.values():
            self._scalers.setdefault(scaler.place, []).append(scaler.known)
        self.found: dict[str, Group] = {}

    def is_paused(self, owner: Known) -> bool:
        """Whether we stopped what scales it."""
        return any(each.stopped for each in self._over(owner))

    def of(self, place: tuple[str, str, str], labels: Labels, chain: Chain) -> Group:
        """The group of an object (its namespace, name and UID) with such labels and owners."""
        uid, kind, namespace, name = self._scene.named.of(place, labels, chain)
        above = [known for each in chain.owners if (known := self._scene.known.get(each.uid)) is not None]
        group = self.found.get(uid)
        if group is None:
            owner = self._scene.known.get(uid)
            group = self.found[uid] = Group(
                uid,
                kind,
                namespace,
                name,
                owner if owner is not None and owner.version and chain.missing is None else None,
                chain.missing is None,
                queued=False,
                in_queue=self._in_queue(owner),
                scalers=() if owner is None else self._over(owner),
            )
        group.above = tuple({each.reference.uid: each for each in (*group.above, *above)}.values())
        group.complete = group.complete and chain.missing is None
        group.queued = group.queued or any(
            each.reference.uid in self._queued
            or (self._scene.has_kueue and dict(each.labels).get(QUEUE_LABEL))
            for each in above
        )
        return group

    def _over(self, owner: Known) -> tuple[Known, ...]:
        """KEDA's objects that scale an owner. One that carries our mark itself was stopped before they were there."""
        if not self._scalers or owner.stopped is not None:
            return ()
        return tuple(sorted(self._scalers.get(place_of(owner.reference, owner.namespace), ()), key=_uid))

    def _in_queue(self, owner: Known | None) -> Known | None:
        """Kueue's object for an owner that names its queue; none where there are several."""
        if owner is None or not dict(owner.labels).get(QUEUE_LABEL):
            return None
        found = self._queued.get(owner.reference.uid, [])
        return found[0] if len(found) == 1 else None


def without_people(labels: Labels, settings: Settings) -> dict[str, str]:
    """The labels without those whose value is a person's name, as the ledger has them."""
    hidden = {*settings.user_labels, *USER_LABELS}
    return {key: value for key, value in labels if key not in hidden}


def counted(pods: Iterable[Seen]) -> bool:
    """Whether any of them asks for GPUs."""
    return any(pod.asks_for_gpus for pod in pods)


def _one(found: Sequence[Known]) -> Known | None:
    return found[0] if len(found) == 1 else None


def _controls(owner: Known, each: Known) -> bool:
    return each.controller is not None and each.controller.uid == owner.reference.uid


def _place(each: Known) -> tuple[str, str, str]:
    return each.namespace, each.reference.name, each.reference.uid


def _labels(each: Known) -> Labels:
    """Its own labels and those of the pods that it would make, as the collector takes them together."""
    told = [each.labels, *(batch.template.labels for batch in (each.lack.batches if each.lack else ()))]
    return labels_of({key: value for some in told for key, value in some})


def _uid(each: Known) -> str:
    return each.reference.uid


def _by_age(pod: Seen) -> tuple[int, str]:
    return pod.created_at or 0, pod.uid
