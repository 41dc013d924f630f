"""One cluster's Kubernetes as a source: its watches, its picture, and what is new of it when a batch is made."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from collector.batch import Census, Opening
from collector.kubernetes.absence import Absence, Standing, standing_of
from collector.kubernetes.drift import Drift
from collector.kubernetes.kinds import Kinds
from collector.kubernetes.picture import Picture
from collector.kubernetes.resources import HOLDERS, QUOTA, RESOURCES
from collector.kubernetes.settings import SOURCE, Settings
from collector.kubernetes.stream import ADDED, GONE, OWNERS, Event
from collector.kubernetes.talk import Api, Trouble
from collector.kubernetes.troubles import Troubles
from collector.kubernetes.watch import Watcher
from collector.log import Log
from sql.ledger import frame

# Owners are asked for so often; those of watched kinds come by themselves before.
_ASK_EVERY_S = 0.25
_COVERS = (HOLDERS, QUOTA)
# For so long the first picture waits for resources that are not needed to tell holders.
_SETTLE_MS = 20_000


@dataclass(frozen=True)
class Taken:
    """What is new, as rows by table; and what a commit has to settle first."""

    frames: Mapping[str, pl.DataFrame]
    openings: tuple[Opening, ...] = ()
    censuses: tuple[Census, ...] = ()


class KubernetesSource:
    """Watches one cluster from `start` until `stop`; `take` may be called from any thread."""

    def __init__(
        self, settings: Settings, api: Api, wall: Callable[[], int], log: Log, patience_ms: int
    ) -> None:
        self.settings = settings
        self._api, self._wall, self._log = api, wall, log
        self._picture = Picture(settings)
        self._lock = threading.Lock()
        self._kinds = Kinds(api)
        self._began_ms = wall()
        self._patience_ms = patience_ms
        self._watchers = [Watcher(api, each, self._deliver, self._now) for each in RESOURCES]
        self._absences: dict[str, Absence] = {}
        self._drift = Drift(settings.cluster)
        self._opened = self._counted = False
        self._troubles = Troubles(log, settings.cluster)
        self._stop = threading.Event()
        self._asker = threading.Thread(target=self._ask, name="owners", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        for watcher in self._watchers:
            watcher.start()
        self._asker.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()
        for watcher in self._watchers:
            watcher.stop()
        self._api.close()

    def _now(self) -> int:
        """Now, by the API server's clock where it is apart from ours: all that is told is on one clock."""
        return self._wall() + self._api.clock.apart_ms

    @property
    def settled(self) -> bool:
        """Whether there is a first full picture: all that holders are told by, and the rest unless it is slow."""
        waited = self._now() - self._began_ms > _SETTLE_MS
        return all(
            each.state.synced_at is not None if _needed(each, HOLDERS) else waited or each.state.settled
            for each in self._watchers
        )

    @property
    def complete(self) -> bool:
        """Whether there is a full picture in which all owners are known that can be."""
        with self._lock:
            return self.settled and not self._picture.wanted_owners()

    @property
    def clock_offset_ms(self) -> int:
        """By how much the API server's clock is ahead of ours, as its answers tell."""
        return self._api.clock.offset_ms

    def lag_ms(self, now_ms: int) -> dict[str, int]:
        """How long ago each watch said that it has told everything, by resource; those that are not there left out."""
        return {
            each.resource.name: now_ms + self._api.clock.apart_ms - each.state.heard_at
            for each in self._watchers
            if each.state.heard_at is not None
        }

    @property
    def troubles(self) -> dict[str, str]:
        """Which watches do not go on just now, and why in a word, by resource."""
        watchers = self._watchers
        return {
            each.resource.name: each.state.trouble.kind for each in watchers if each.state.trouble is not None
        }

    def change_lag_ms(self) -> int:
        """The longest that a change took to arrive since this was asked last; the API's times are floored seconds."""
        longest = max(each.state.lag_ms for each in self._watchers)
        for each in self._watchers:
            each.state.lag_ms = 0
        return longest

    @property
    def events(self) -> int:
        """How many events the watches brought."""
        return sum(each.state.events for each in self._watchers)

    def take(self, now_ms: int) -> Taken:
        """What is new since the last time; nothing of the picture before it is full for the first time.

        All but the lags is on the API server's clock, where that is apart from ours.
        """
        self._troubles.say(self._watchers)
        apart_ms = self._api.clock.apart_ms
        if not self._absences:
            self._began_ms += apart_ms
            self._absences = {
                covers: Absence(self.settings.cluster, covers, self._began_ms, self._patience_ms)
                for covers in _COVERS
            }
        drift = self._drift.observe(now_ms, apart_ms, self._api.clock.bounds())
        now_ms += apart_ms
        rows: dict[str, list[object]] = {}
        censuses: tuple[Census, ...] = ()
        settled = self._counted or self.settled
        standings = {covers: self._standing(covers, settled=settled) for covers in _COVERS}
        if settled:
            with self._lock:
                rows = {table: list(told) for table, told in self._picture.take(now_ms).items()}
                if not self._counted:
                    self._counted = True
                    ends = {**self._picture.seats.job_ended, **self._picture.seats.killed}
                    censuses = (Census(self.settings.cluster, SOURCE, now_ms, self._picture.present(), ends),)
        for covers, absence in self._absences.items():
            gaps, marks = absence.observe(now_ms, standings[covers])
            rows.setdefault("gaps_versions", []).extend(gaps)
            rows.setdefault("watermarks", []).extend(marks)
        if drift is not None:
            rows["findings_versions"] = [drift]
            self._say_drift(apart_ms)
        openings: tuple[Opening, ...] = ()
        if not self._opened and (rows.get("watermarks") or censuses):
            self._opened = True
            openings = tuple(
                Opening(self.settings.cluster, SOURCE, self._began_ms, 0, (), covers) for covers in _COVERS
            )
        return Taken({table: frame(told) for table, told in rows.items() if told}, openings, censuses)

    def _standing(self, covers: str, *, settled: bool) -> Standing:
        watchers = [
            each
            for each in self._watchers
            if _needed(each, covers) or (covers in each.resource.covers and each.state.synced_at is not None)
        ]
        relists: list[tuple[int, int]] = []
        for each in watchers:
            told, each.state.relists = each.state.relists, []
            relists += told
        heard = [each.state.heard_at if settled else None for each in watchers]
        troubles = [
            f"{each.resource.name}: {each.state.trouble.detail}" for each in watchers if each.state.trouble
        ]
        return standing_of(heard, relists, troubles)

    def _deliver(self, events: Sequence[Event]) -> None:
        with self._lock:
            for event in events:
                self._picture.apply(event)

    def _ask(self) -> None:
        """Look up the owners that no watch tells of."""
        while not self._stop.wait(_ASK_EVERY_S):
            if not self.settled:
                continue
            with self._lock:
                wanted = self._picture.wanted_owners()
            for owner, namespace in wanted:
                if self._stop.is_set():
                    return
                try:
                    found = self._kinds.metadata(owner, namespace)
                except Trouble:
                    break  # the server is away: the watches say so
                known = found or {"metadata": {"uid": owner.uid}}
                self._deliver([Event(self._now(), OWNERS, ADDED if found else GONE, known)])

    def _say_drift(self, apart_ms: int) -> None:
        self._log.warning(
            "clocks apart",
            cluster=self.settings.cluster,
            what=f"the API server's clock is {apart_ms / 1000:+.1f} s from this machine's",
            hint="set both by NTP; until then telemetry and holders are that far apart",
        )


def _needed(watcher: Watcher, covers: str) -> bool:
    return covers in watcher.resource.covers and not watcher.resource.optional
