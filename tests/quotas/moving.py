"""For tests of quotas on a control plane: a hand that moves them, a cluster that is watched, and what is promised."""

import itertools
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from collector.kubernetes.settings import Settings
from collector.kubernetes.talk import client_of, connect
from collector.log import Log
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.crew import HANDS
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.order import Order, Under
from enforcer.act.wire import Wire
from enforcer.audit.carried import carried
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase
from enforcer.guard.standing import Standing
from enforcer.live.cluster import CONNECTIONS, LiveCluster
from enforcer.plan import Act, Action, Cause, Target
from enforcer.promised import Promised
from enforcer.quotas.backends import kinds_moved
from enforcer.quotas.cap import Cap
from enforcer.quotas.hand import Quotas
from enforcer.quotas.watched import QuotaWatch
from enforcer.snapshot import Workload
from quartermaster.clock import HOUR_MS, now_ms
from quartermaster.config.acting import Experimental
from quartermaster.config.clusters import KubernetesPart
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.act.acting import wire
from tests.act.proxy import Proxy
from tests.servers.controlplane import ControlPlane

UNDER = Under("c", "p" * 64, 3, "enforcer-1")
POLICY = PolicyPart.model_validate(
    {"acting": {"mode": "act", "lend": True}, "minimum_runtime": "1s", "bind_wait": "1s"}
)
ALWAYS = 2**50
_ROW: dict[str, Any] = {
    "start_ms": 0,
    "end_ms": ALWAYS,
    "limit_parts": None,
    "weight": 1,
    "kind": "promise",
    "source_object": "",
}
_SCHEMA = {
    "start_ms": pl.Int64,
    "end_ms": pl.Int64,
    "team": pl.String,
    "pool": pl.String,
    "guaranteed_parts": pl.Int64,
    "limit_parts": pl.Int64,
    "weight": pl.Int64,
    "kind": pl.String,
    "source_object": pl.String,
}


def until(holds: Callable[[], bool], seconds: float = 60) -> float:
    """Wait until it holds; after how many seconds it did."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + seconds
        time.sleep(0.02)
    return time.monotonic() - began


def promised(*rows: dict[str, Any]) -> Promised:
    """What is promised: `gpus` to a team in a pool by an object, or a booking."""
    told = [
        _ROW
        | {key: value for key, value in row.items() if key != "gpus"}
        | {"guaranteed_parts": row["gpus"] * GPU_PARTS}
        for row in rows
    ]
    nobody = pl.DataFrame(
        schema={"start_ms": pl.Int64, "end_ms": pl.Int64, "team": pl.String, "department": pl.String}
    )
    return Promised(pl.DataFrame(told, schema=_SCHEMA), nobody)


def standing() -> Standing:
    """Nothing speaks against acting."""
    now = now_ms()
    return Standing(now, "act", now - HOUR_MS, now - HOUR_MS, None, 1000)


@dataclass
class Afresh:
    """A test's quota objects as they are now, instead of what a watch has heard of them."""

    look: Callable[[], Iterable[Cap | None]]
    settings: Settings = field(default_factory=lambda: Settings("c"))
    settled: bool = True

    def all(self) -> tuple[Cap, ...]:
        return tuple(each for each in self.look() if each is not None)

    def start(self) -> None:
        """Nothing is watched."""

    def stop(self) -> None:
        """Nothing was watched."""


def at_every_call(
    proxy: Proxy,
    fault: str,
    chain: Chain,
    look: Callable[[], Iterable[Cap | None]],
    goes_through: Callable[[int, Quotas, list[int]], bool],
) -> None:
    """A fault at the first call, at the second, and so on, until none meets it; each intent has its outcome then.

    `goes_through` is given the call's number, what moves quotas, and how late it is (ms) by its clock, to be set.
    """
    late_ms = [0]
    through = Hands(wire(proxy.plane, url=proxy.url, read_s=0.3), pause=lambda seconds: None)
    acts = Doing(through, chain, lambda epoch: "", lambda: now_ms() + late_ms[0], Pace())
    quotas = Quotas(acts, chain.ledger, Afresh(look), lambda epoch: "")
    try:
        for number in itertools.count(1):
            proxy.expect(fault, number)
            if goes_through(number, quotas, late_ms):
                assert number > 3
                break
    finally:
        acts.close()
        through.wire.close()
    with chain.ledger.reading() as cursor:
        intents = carried(cursor, "c", until_ms=2**42, phases=[Phase.INTENT])
    assert all(each.result for each in intents), intents


@dataclass
class Moved:
    """A hand on a cluster, and the audit that it writes."""

    plane: ControlPlane
    doing: Doing
    quotas: Quotas
    actor: Actor
    chain: Chain
    live: LiveCluster | None = None

    def stop(self) -> None:
        self.quotas.stop()
        self.doing.close()
        if self.live is not None:
            self.live.stop()

    def watch(self, settings: Settings, token: str) -> LiveCluster:
        self.live = LiveCluster(
            settings, connect(part_of(self.plane, token), "c", CONNECTIONS), now_ms, Log("plain")
        )
        self.live.start()
        until(lambda: self.live is not None and self.live.settled)
        return self.live


def part_of(plane: ControlPlane, token: str) -> KubernetesPart:
    path: Path = plane.kubeconfig_of(token)
    return KubernetesPart.model_construct(kubeconfig=path, context=None, in_cluster=False)


def hand(
    plane: ControlPlane,
    token: str,
    chain: Chain,
    settings: Settings,
    experimental: Collection[Experimental] = (),
) -> Moved:
    """One that acts with the token's rights, watching."""
    doing = Doing(
        Hands(Wire(client_of(part_of(plane, token), "c", HANDS + 4))), chain, lambda epoch: "", now_ms, Pace()
    )
    kinds = kinds_moved(experimental)
    api = connect(part_of(plane, token), "c", len(kinds))
    watch = QuotaWatch(settings, api, now_ms, Log("plain"), kinds)
    quotas = Quotas(doing, chain.ledger, watch, lambda epoch: "")
    quotas.start()
    until(lambda: watch.settled)
    return Moved(plane, doing, quotas, Actor(doing), chain)


def acted(moved: Moved, what: Act, workload: Workload) -> tuple[Deed, ...]:
    """Done to a workload as a plan has it."""
    pods = tuple(sorted((pod.uid, pod.version, pod.node) for pod in workload.pods))
    target = Target(
        workload.uid,
        workload.version,
        workload.kind,
        workload.namespace,
        workload.name,
        workload.team,
        workload.pool,
        workload.way_down,
        pods,
    )
    order = Order(0, Action(1, what, Cause.IDLE, target), {pod.uid: pod.name for pod in workload.pods})
    return moved.actor.carry_out([order], UNDER, lambda action, seen: None)


def outcomes(deeds: tuple[Deed, ...]) -> list[tuple[str, str, str]]:
    """What came of each: act, name and result."""
    return [(each.act, each.name, each.result) for each in deeds if each.phase is Phase.OUTCOME]
