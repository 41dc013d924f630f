"""What quota objects a cluster has, of those kinds that are moved, watched."""

import threading
from collections.abc import Callable, Collection, Sequence

from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import ADDED, BEGIN, GONE, MODIFIED, SYNCED, Event
from collector.kubernetes.talk import Api
from collector.kubernetes.troubles import Troubles
from collector.kubernetes.values import mapping, text
from collector.kubernetes.watch import Watcher
from collector.log import Log
from enforcer.quotas.backends import BACKENDS, read_cap
from enforcer.quotas.cap import Cap


class Caps:
    """The caps of one cluster, kept from a stream of events; may be asked from any thread."""

    def __init__(self, settings: Settings, kinds: Collection[str]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Cap]] = {kind: {} for kind in kinds}
        self._listing: dict[str, set[str]] = {}

    def apply(self, events: Sequence[Event]) -> None:
        """Take events into account."""
        with self._lock:
            for event in events:
                self._apply(event)

    def all(self) -> tuple[Cap, ...]:
        """As they are known now, by kind, namespace and name."""
        with self._lock:
            found = [cap for known in self._known.values() for cap in known.values()]
        return tuple(sorted(found, key=lambda each: (each.kind, each.namespace, each.name)))

    def _apply(self, event: Event) -> None:
        known, uid = self._known[event.kind], text(mapping(event.object.get("metadata")).get("uid"))
        if event.type == BEGIN:
            self._listing[event.kind] = set()
        elif event.type == SYNCED:
            listed = self._listing.pop(event.kind, set())
            self._known[event.kind] = {uid: cap for uid, cap in known.items() if uid in listed}
        elif event.type == GONE:
            known.pop(uid, None)
        elif event.type in {ADDED, MODIFIED}:
            cap = read_cap(event.object, event.kind, self._settings)
            self._listing.get(event.kind, set()).add(uid)
            known.pop(uid, None)
            if cap is not None:
                known[uid] = cap


class QuotaWatch:
    """Watches one cluster's quota objects of these kinds (`enforcer.quotas.backends`) from `start` until `stop`."""

    def __init__(
        self, settings: Settings, api: Api, wall: Callable[[], int], log: Log, kinds: Collection[str]
    ) -> None:
        self.settings = settings
        self._api, self._log = api, log
        self._troubles = Troubles(log, settings.cluster)
        self._caps = Caps(settings, kinds)
        self._watchers = [Watcher(api, BACKENDS[kind].watched, self._caps.apply, wall) for kind in kinds]

    def start(self) -> None:
        """Begin to watch."""
        for watcher in self._watchers:
            watcher.start()

    def stop(self) -> None:
        """Watch no more."""
        for watcher in self._watchers:
            watcher.stop()
        self._api.close()

    @property
    def settled(self) -> bool:
        """Whether all is seen that may be."""
        return all(each.state.settled for each in self._watchers)

    def all(self) -> tuple[Cap, ...]:
        """The caps as they are known now. What is not watched just now is said once in the log."""
        self._troubles.say(self._watchers)
        return self._caps.all()
