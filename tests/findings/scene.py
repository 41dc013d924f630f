"""A small cluster in minutes: workloads, what each GPU says minute by minute, and what is noticed of it."""

from decimal import Decimal
from typing import Any

import polars as pl

from analytics.findings import look
from analytics.found import Found
from analytics.judged import Terms
from quartermaster import records
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from tests.usage.small import CLUSTER, G, Small, gpu, m
from tests.usage.toy import empty, insert, tell, toy

IDLE_W, BUSY_W = 50, 300
_CONNECTION = toy()
_LATER = ("watermarks", "usage_hourly", "quota_hourly", "lending_hourly", "findings_versions")


class Scene:
    """GPUs of node `n` in pool `p`; workload kinds `Job`, `Notebook`, …; the instant asked for is minute `at`."""

    def __init__(self, gpus: int = 4, at: int = 360) -> None:
        self.small = Small(gpus)
        self.small.floor("power", 900)
        self.small.namespaces_are_teams("vision", "nlp")
        self.at = at
        self.heard_until: int | None = None
        self.more: dict[str, list[dict[str, Any]]] = {}
        self._energy = [0] * gpus

    def workload(
        self, kind: str, name: str, *gpus: int, start: int = 0, team: str = "vision", **more: Any
    ) -> None:
        """A workload with a pod a GPU, bound (and started) at a minute."""
        number = len(self.small.h.workloads) + 100
        self.small.h.workloads.append(
            records.Workload(CLUSTER, number, m(start), None, "", kind, team, name, uid=f"uid-{name}")
        )
        for index in gpus:
            given: dict[str, Any] = {"workload_id": number, "namespace": team} | more
            self.small.pod(f"{index}-{name}", start, None, gpu(index), **given)

    def says(self, index: int, start: int, end: int, activity: int | None, watts: int, **values: int) -> None:
        """Samples every minute of [start, end]: an activity in permille and a power; energy counts up."""
        heard = []
        for minute in range(start, end + 1):
            self._energy[index] += watts * 60
            said = {"gr_engine_permille": activity, "energy_j": self._energy[index]} | values
            heard.append((minute, said))
        self.small.heard(index, *heard, hold=2)

    def idle(self, index: int, start: int = 0, end: int | None = None) -> None:
        self.says(index, start, self.at if end is None else end, 0, IDLE_W)

    def busy(self, index: int, start: int = 0, end: int | None = None) -> None:
        self.says(index, start, self.at if end is None else end, 800, BUSY_W)

    def disagree(self, pod: str, start: int, end: int) -> None:
        row = {"cluster": CLUSTER, "finding_id": 1, "start_at": m(start), "end_at": m(end), "revision": 0}
        row |= {"kind": "sources disagree", "subject": pod, "state": "open"}
        self.more.setdefault("findings_versions", []).append(row)

    def found(self, findings: FindingsPart | None = None, price: str | None = "2.00") -> tuple[Found, ...]:
        empty(_CONNECTION)
        for table in _LATER:
            _CONNECTION.execute(f"delete from {table}")
        history = self.small.h
        tell(_CONNECTION, [history], history)
        told = {"cluster": [CLUSTER], "source": ["kubernetes"], "covers": ["holders"]}
        insert(
            _CONNECTION,
            "watermarks",
            pl.DataFrame(told | {"complete_until_at": [m(self.heard_until or self.at)]}),
        )
        for table, rows in self.more.items():
            insert(_CONNECTION, table, pl.DataFrame(rows))
        terms = Terms(
            m(self.at),
            findings or FindingsPart(),
            PolicyPart(),
            lambda _cluster, _pool, _model: None if price is None else (Decimal(price), "EUR"),
        )
        return look(_CONNECTION, CLUSTER, terms)

    def told(self) -> dict[tuple[str, str], Found]:
        return {(each.kind.value, each.subject): each for each in self.found()}


def parts(gpus: float) -> int:
    return int(gpus * G)
