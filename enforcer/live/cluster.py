"""One cluster, watched for plans: its watches, what they tell, and snapshots of it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.kubernetes import talk
from collector.kubernetes.kinds import Kinds
from collector.kubernetes.owners import Reference
from collector.kubernetes.resources import HOLDERS, Resource
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import Event
from collector.kubernetes.talk import Api, Trouble
from collector.kubernetes.troubles import Troubles
from collector.kubernetes.watch import Watcher
from collector.log import Log
from enforcer.act.way import WAYS, Ways
from enforcer.live.makes import MAKES
from enforcer.live.reading import Reading
from enforcer.live.resources import WATCHED, needed, watched_in
from enforcer.live.scene import ABOVE, WATCHED_KINDS, Kind, Scene
from enforcer.snapshot import Promise, Snapshot, Taking

# Kinds of owners above the watched ones; a cluster has a handful. Those beyond are left alone with what they own.
MOST_KINDS = 32
CONNECTIONS = len(WATCHED) + MOST_KINDS + 4  # in the whole cluster, or for each namespace
_WIDEN_EVERY_S, _LATER_S = 0.1, 300.0


@dataclass(frozen=True)
class Look:
    """A snapshot; and until when people keep workloads by annotation (epoch ms), by the workload's UID.

    What people wrote is theirs: a policy's bound on it is for who reads it.
    """

    snapshot: Snapshot
    kept_until_ms: Mapping[str, int]


class LiveCluster:
    """Watches one cluster from `start` until `stop`; all else may be asked from any thread.

    `namespaces` are those that it looks into; without any, the whole cluster. In namespaces alone nodes, volumes and
    priorities are not asked for. `hubs` are the namespaces whose pods a JupyterHub stops and starts. `changed` is set
    whenever something changed that may change a plan: who waits for it clears it first.
    """

    def __init__(
        self,
        settings: Settings,
        api: Api,
        wall: Callable[[], int],
        log: Log,
        *,
        ways: Ways = WAYS,
        hubs: frozenset[str] = frozenset(),
        namespaces: Sequence[str] = (),
    ) -> None:
        self.settings = settings
        self.changed = threading.Event()
        self._api, self._wall, self._log = api, wall, log
        self._namespaces = tuple(namespaces)
        self._scene = Scene(settings, ways, hubs, has_nodes=not namespaces)
        self._lock = threading.Lock()
        self._kinds = Kinds(api)
        self._watchers = [Watcher(api, each, self._deliver, self._now) for each in watched_in(namespaces)]
        self._above: dict[Kind, tuple[Watcher, ...]] = {}  # none, where nobody serves the kind
        self._widened = False
        self._settled: set[Resource] = set()
        self._troubles = Troubles(log, settings.cluster)
        self._stop = threading.Event()
        self._widener = threading.Thread(target=self._widen, name="owners", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        if self._namespaces:
            self._log.warning(
                "seen in namespaces alone",
                cluster=self.settings.cluster,
                namespaces=", ".join(self._namespaces),
                lost="nodes are not seen: nobody is taken for pods that wait",
            )
        for watcher in self._watchers:
            watcher.start()
        self._widener.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()
        for watcher in (*self._watchers, *self._above_watchers()):
            watcher.stop()
        self._api.close()

    @property
    def settled(self) -> bool:
        """Whether there is a first full picture, with every owner in it that may be read."""
        with self._lock:
            if not (self._widened and self._scene.wanted.keys() <= self._above.keys()):
                return False
        for each in (*self._watchers, *self._above_watchers()):
            if _settled(each):
                self._settled.add(each.resource)  # it stays so: how old it is, `seen_at_ms` tells
        return all(each.resource in self._settled for each in (*self._watchers, *self._above_watchers()))

    @property
    def seen_at_ms(self) -> int:
        """How far every watch that a plan needs is complete, on the API server's clock; 0 before there is a picture."""
        if not self.settled:
            return 0
        heard = [
            each.state.heard_at
            for each in (*self._watchers, *self._above_watchers())
            if HOLDERS in each.resource.covers and (needed(each.resource) or each.state.synced_at is not None)
        ]
        return min((at for at in heard if at is not None), default=0)

    @property
    def troubles(self) -> dict[str, str]:
        """Which watches do not go on just now, and what the server said, by resource; a kind that need not be there
        and is not is none."""
        watchers = (*self._watchers, *self._above_watchers())
        return {
            each.resource.title: each.state.trouble.detail
            for each in watchers
            if each.state.trouble is not None
            and not (each.resource.optional and each.state.trouble.kind == talk.ABSENT)
        }

    def snapshot(
        self, at_ms: int, promises: Sequence[Promise] = (), takings: Sequence[Taking] = ()
    ) -> Snapshot:
        """The cluster as it is known now; `at_ms` is now, by our clock. All in it is on the API server's clock."""
        return self.look(at_ms, promises, takings).snapshot

    def look(
        self,
        at_ms: int,
        promises: Sequence[Promise] = (),
        takings: Sequence[Taking] = (),
        pools: Mapping[str, str] | None = None,
    ) -> Look:
        """The same, with what is no part of a snapshot. `pools` by node count where nodes are not to be seen."""
        watchers = (*self._watchers, *self._above_watchers())
        self._troubles.say(watchers, without="what such owners have is left alone")
        seen_at_ms, at_ms = self.seen_at_ms, at_ms + self._api.clock.apart_ms
        with self._lock:
            reading = Reading(self._scene, at_ms, pools or {})
            snapshot = reading.snapshot(min(seen_at_ms, at_ms), promises, takings)
            return Look(snapshot, reading.kept_until_ms())

    def _now(self) -> int:
        return self._wall() + self._api.clock.apart_ms

    def _above_watchers(self) -> list[Watcher]:
        return [each for some in list(self._above.values()) for each in some]

    def _deliver(self, events: Sequence[Event]) -> None:
        with self._lock:
            matters = [self._scene.apply(event) for event in events]
        if any(matters):
            self.changed.set()

    def _widen(self) -> None:
        """Watch the kinds that own what is watched: those with a way down at once, the others when one is met.

        What nobody serves is looked for again now and then: it may be installed later.
        """
        looked_at_s = time.monotonic()
        while not self._stop.wait(_WIDEN_EVERY_S):
            if time.monotonic() - looked_at_s > _LATER_S:
                looked_at_s, self._kinds = time.monotonic(), Kinds(self._api)
                again = {key for key, watchers in self._above.items() if not watchers}
            else:
                again = set[Kind]()
            with self._lock:
                wanted = dict(self._scene.wanted)
            try:
                if not self._widened:
                    wanted |= self._with_ways()
                for key, reference in wanted.items():
                    if key not in self._above or key in again:
                        self._above[key] = self._watch_above(reference)
            except Trouble:
                continue  # the server is away: the watches say so
            self._widened = True
            self._note_unreadable()
        for watcher in self._above_watchers():  # one that began while all were stopped
            watcher.stop()

    def _with_ways(self) -> dict[Kind, Reference]:
        """The served kinds above the watched ones whose owners can be stopped: what was stopped has no pods to tell."""
        found: dict[Kind, Reference] = {}
        for kind, way in self._scene.ways.items():
            version = next((each for each in way.versions if self._kinds.serves(way.group, each, kind)), None)
            if version is not None and (way.group, kind) not in WATCHED_KINDS:
                found[way.group, kind] = Reference(f"{way.group}/{version}", kind, "", "")
        return found

    def _watch_above(self, reference: Reference) -> tuple[Watcher, ...]:
        """The kind's watchers, begun; none where nobody serves it, or too many are watched. Raises Trouble."""
        full = sum(1 for each in self._above.values() if each) >= MOST_KINDS
        place = None if full else self._kinds.place(reference)
        if place is None or (self._namespaces and not place[1]):
            return ()
        resource = Resource(
            f"{ABOVE}{reference.api_version} {reference.kind}",
            place[0],
            reference.group,
            (reference.api_version.rpartition("/")[2],),
            covers=(HOLDERS,),
            optional=True,
        )
        bare = reference.kind not in MAKES
        wanted = [replace(resource, namespace=each) for each in self._namespaces] or [resource]
        watchers = tuple(
            Watcher(self._api, each, self._deliver, self._now, metadata_only=bare) for each in wanted
        )
        for watcher in watchers:
            watcher.start()
        return watchers

    def _note_unreadable(self) -> None:
        """The walk up to the top owner ends at a kind that may not be read, until it may."""
        for key, watchers in list(self._above.items()):
            unreadable = not any(each.state.synced_at or not each.state.settled for each in watchers)
            with self._lock:
                if unreadable != (key in self._scene.unreadable):
                    (self._scene.unreadable.add if unreadable else self._scene.unreadable.discard)(key)
                    self.changed.set()


def _settled(watcher: Watcher) -> bool:
    """Whether it is known what it has to say. Of what a plan needs, that it may not be read is not enough."""
    state, resource = watcher.state, watcher.resource
    if state.synced_at is not None:
        return True
    if resource.kind.startswith(ABOVE) or HOLDERS not in resource.covers:
        return state.settled
    return resource.optional and state.trouble is not None and state.trouble.kind == talk.ABSENT
