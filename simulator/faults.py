"""Faults: what breaks, where and for how long, told by seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from quartermaster.clock import DAY_MS, SECOND_MS
from simulator.fleet import Fleet

XID_APPLICATION = (13, 31, 43)  # a program's own fault: its pod dies, the GPU goes on
XID_DEVICE = (48, 79, 94)  # the GPU's fault: it is sick until somebody has mended it
_MEAN_NODE_DAYS = {"cordon": 55.0, "lost": 110.0, "sick": 60.0, "xid": 30.0, "exporter": 28.0}


@dataclass(frozen=True)
class Fault:
    """A fault of a node: cordon, lost (NotReady), sick (a GPU), xid (a program's), exporter (it is down)."""

    start_ms: int
    end_ms: int
    kind: str
    node: str
    gpu: int = -1  # the GPU's number in the fleet, for sick and xid
    xid: int = 0


def plans(seed: int, fleet: Fleet, start_ms: int, end_ms: int) -> list[Fault]:
    """The span's faults in order of time, as many as node-days make likely; one of each in over a day."""
    found = [fault for kind in _MEAN_NODE_DAYS for fault in _of_kind(kind, seed, fleet, start_ms, end_ms)]
    return sorted(found, key=lambda fault: (fault.start_ms, fault.node, fault.kind))


def _of_kind(kind: str, seed: int, fleet: Fleet, start_ms: int, end_ms: int) -> Iterator[Fault]:
    random = Random(f"{seed}/fault/{kind}")
    every = _MEAN_NODE_DAYS[kind] * DAY_MS / len(fleet.machines)
    first = min(random.expovariate(1 / every), random.uniform(0.2, 0.8) * (end_ms - start_ms))
    at = start_ms + (first if end_ms - start_ms > DAY_MS else random.expovariate(1 / every))
    while at < end_ms:
        machine = random.choice(fleet.machines)
        gpu = random.choice(machine.gpus).index if kind in {"sick", "xid"} else -1
        xid = random.choice({"sick": XID_DEVICE, "xid": XID_APPLICATION}.get(kind, (0,)))
        yield Fault(int(at), int(at) + _length_ms(kind, random), kind, machine.name, gpu, xid)
        at += random.expovariate(1 / every)


def _length_ms(kind: str, random: Random) -> int:
    low, high = {
        "cordon": (120, 900),
        "lost": (25, 200),
        "sick": (180, 1200),
        "xid": (1, 1),
        "exporter": (12, 240),
    }[kind]
    return random.randint(low * 60, high * 60) * SECOND_MS
