"""A cluster's past in letters: what each workload's GPU did hour by hour, as the roll-up has it; on a plain DuckDB."""

from typing import Any

import polars as pl

from quartermaster import records
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS
from tests.usage.small import CLUSTER, Small, gpu, m
from tests.usage.toy import empty, insert, tell, toy

CONNECTION = toy()
_HOUR = GPU_PARTS * HOUR_MS
# Computing, idle by two signals, by one alone, by two for 95 % and for 94 % of it, unknown.
_SAID = {
    "c": {"computing_pms": _HOUR},
    "i": {"idle_pms": _HOUR, "idle_confirmed_pms": _HOUR},
    "a": {"idle_pms": _HOUR},
    "n": {"idle_pms": _HOUR, "idle_confirmed_pms": _HOUR * 95 // 100},
    "t": {"idle_pms": _HOUR, "idle_confirmed_pms": _HOUR * 94 // 100},
    "u": {"unknown_pms": _HOUR},
}
_ALSO = (
    "watermarks",
    "usage_hourly",
    "quota_hourly",
    "rollup_marks",
    "findings_versions",
    "plans",
    "actions",
)


def h(hour: int) -> int:
    """The start of an hour. Hour 0 is a Monday's, 16:00 UTC."""
    return m(60 * hour)


class Past:
    """GPUs of node `n` in pool `p`. On GPU 0 something computes all the time, as long as `hours` says."""

    def __init__(self, hours: int = 24, gpus: int = 4) -> None:
        self.hours = hours
        self.small = Small(gpus)
        self.small.namespaces_are_teams("vision", "nlp")
        self.usage: list[dict[str, Any]] = []
        self.complete_until = hours
        self.names: dict[str, int] = {}
        self.did("busy", "Job", 0, "c" * hours)

    def did(self, name: str, kind: str, index: int, letters: str, start: int = 0, **more: Any) -> None:
        """A workload of one pod on one GPU, bound at hour `start`, and what the GPU did in each hour from then on."""
        number = self.names.setdefault(name, 100 + len(self.names))
        team = more.pop("team", "vision")
        known = any(each.workload_id == number for each in self.small.h.workloads)
        if not known:
            self.small.h.workloads.append(
                records.Workload(CLUSTER, number, h(0), None, "", kind, team, name, uid=f"uid-{name}")
            )
        end = start + len(letters)
        given: dict[str, Any] = {"workload_id": number, "namespace": team} | more
        until = None if end >= self.hours else 60 * end
        allocation = self.small.pod(f"{index}-{start}-{name}", 60 * start, until, gpu(index), **given)
        for hour, letter in enumerate(letters, start):
            self.usage.append(
                {
                    "cluster": CLUSTER,
                    "row_start_at": h(hour),
                    "row_end_at": h(hour + 1),
                    "pool": "p",
                    "node": "n",
                    "device_id": gpu(index),
                    "allocation_id": allocation,
                    "workload_id": number,
                    "team": team,
                    "held_pms": _HOUR,
                    "computing_pms": 0,
                    "idle_pms": 0,
                    "unknown_pms": 0,
                    "idle_confirmed_pms": 0,
                }
                | _SAID[letter]
            )

    def told(self) -> Any:
        """The connection, with all of it told."""
        empty(CONNECTION)
        for table in _ALSO:
            CONNECTION.execute(f"delete from {table}")
        tell(CONNECTION, [self.small.h], self.small.h)
        for source, covers in (("kubernetes", "holders"), ("dcgm", "telemetry")):
            mark = {"cluster": [CLUSTER], "source": [source], "covers": [covers]}
            insert(
                CONNECTION, "watermarks", pl.DataFrame(mark | {"complete_until_at": [h(self.complete_until)]})
            )
        rolled = {"cluster": [CLUSTER], "rolled_from_at": [h(0)], "rolled_until_at": [h(self.hours)]}
        insert(CONNECTION, "rollup_marks", pl.DataFrame(rolled))
        insert(CONNECTION, "usage_hourly", pl.DataFrame(self.usage))
        return CONNECTION
