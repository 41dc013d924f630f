# ruff: noqa: E501
"""A small cluster to state a decision with: one hour in minutes, one node, GPUs, pods, what they held and what was heard."""

from dataclasses import replace
from typing import Any

from analytics.measure import Measure
from quartermaster import records
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS
from tests.usage.accountant import Account, account
from tests.usage.histories import ORIGIN
from tests.usage.history import History, Rule, Sample, Threshold
from tests.usage.test_accountant import same
from tests.usage.toy import empty, measured, tell, toy

MINUTE = 60_000
G = GPU_PARTS
CLUSTER = "c"
_CONNECTION = toy()


def m(minute: int) -> int:
    return ORIGIN + minute * MINUTE


class Small:
    """Node `n` in pool `p` with GPUs that Kubernetes tells of from before the hour; add pods, samples, promises."""

    def __init__(self, gpus: int = 1, *, told: str = "kubernetes", **node: Any) -> None:
        self.h = History()
        self.gpus = gpus
        self.h.nodes = [replace(records.Node(CLUSTER, "n", m(-600), None, "p", "H100", gpus), **node)]
        for index in range(gpus):
            self.h.devices.append(
                records.Device(CLUSTER, gpu(index), m(-600), None, "n", index, f"G{index}", "gpu", G)
            )
            self.series(index)
        self.h.authority = [records.Authority(CLUSTER, 1, m(-600), None, told, 0)]

    def series(self, index: int, source: str = "dcgm", gi_id: str = "", vgpu: str = "") -> int:
        name = content_id("series", source, index, gi_id, vgpu)
        self.h.series.append(
            records.Series(
                CLUSTER,
                name,
                m(-600),
                None,
                source,
                "n",
                f"G{index}",
                gi_id,
                vgpu,
                "",
                "",
                index,
                "gpu",
                "5",
                "t",
            )
        )
        return name

    def pod(
        self,
        name: str,
        start: int,
        end: int | None,
        *devices: int,
        parts: int = G,
        evidence: str = "kubelet",
        **more: Any,
    ) -> int:
        """A pod bound at a minute (and started then) until another; on the devices that the evidence names, or on one that nobody names."""
        number = pod(name)
        base = records.Allocation(
            CLUSTER,
            number,
            m(start),
            m(start),
            None if end is None else m(end),
            "kubernetes",
            1,
            "n",
            name,
            name,
            gpu_parts=G,
        )
        self.h.allocations.append(replace(base, **more))
        for device in devices:
            holding = content_id("holding", number, device)
            self.h.holdings.append(
                records.Holding(
                    CLUSTER,
                    holding,
                    m(start),
                    None if end is None else m(end),
                    number,
                    device,
                    parts,
                    evidence,
                )
            )
        return number

    def heard(
        self,
        index: int,
        *at: tuple[int, Any],
        hold: int = 10,
        source: str = "dcgm",
        vgpu: str = "",
        gi_id: str = "",
    ) -> None:
        """Samples: (minute, activity in permille) or (minute, {column: value}); each speaks for `hold` minutes at most."""
        name = content_id("series", source, index, gi_id, vgpu)
        for minute, said in at:
            values = said if isinstance(said, dict) else {"gr_engine_permille": said}
            self.h.samples.append(Sample(CLUSTER, name, m(minute), source, hold * MINUTE, **values))

    def promise(self, team: str, gpus: float, start: int = -600, end: int | None = None, **more: Any) -> None:
        name = content_id("quota", team, more.get("kind", ""), start)
        quota = records.Quota(
            CLUSTER, name, m(start), None if end is None else m(end), team, "p", int(gpus * G)
        )
        self.h.quotas.append(replace(quota, **more))

    def gap(self, covers: str, source: str, start: int, end: int, node: str = "n") -> None:
        name = content_id("gap", covers, source, start)
        self.h.gaps.append(records.Gap(CLUSTER, name, m(start), m(end), covers, source, "", node, "x"))

    def namespaces_are_teams(self, *teams: str) -> None:
        self.h.team_rules = [
            Rule(n, m(-600), None, n, team, namespace_glob=team) for n, team in enumerate(teams)
        ]

    def floor(self, signal: str, floor: int, kind: str = "*") -> None:
        self.h.thresholds.append(Threshold(len(self.h.thresholds), m(-600), None, signal, floor, kind))

    def account(self, hours: int = 1) -> Account:
        """What the roll-up finds; the accountant finds the same."""
        found = self.found(hours)
        same("the accountant", found, account(self.h, CLUSTER, ORIGIN, m(60 * hours), MINUTE))
        return found

    def found(self, hours: int) -> Account:
        """What the roll-up finds."""
        empty(_CONNECTION)
        tell(_CONNECTION, [self.h], self.h)
        until = m(60 * hours)
        return measured(Measure(_CONNECTION, [CLUSTER], ORIGIN, until), {CLUSTER: (ORIGIN, until)})[CLUSTER]

    def rows(self, *columns: str, hours: int = 1) -> dict[tuple[Any, ...], tuple[float, ...]]:
        """(device index or None, pod's name or None) → the columns in GPU-minutes, joules or as they are; of all rows added up."""
        devices = {device.device_id: device.device_index for device in self.h.devices}
        pods = {allocation.allocation_id: allocation.pod for allocation in self.h.allocations}
        found: dict[tuple[Any, ...], tuple[float, ...]] = {}
        for key, row in self.account(hours).usage.items():
            name = devices.get(key[4], "?") if key[4] is not None else None, pods.get(key[5])
            figures = tuple(row[f"{c}_pms"] / G / MINUTE if f"{c}_pms" in row else row[c] for c in columns)
            before = found.get(name)
            found[name] = tuple(a + b for a, b in zip(before, figures, strict=True)) if before else figures
        return found


def gpu(index: int) -> int:
    return device_id(CLUSTER, f"G{index}")


def pod(name: str) -> int:
    """Pods' ids are in order of their names."""
    return int.from_bytes(name.encode()[:6], "big")
