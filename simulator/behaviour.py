"""Behaviours: what a pod's processes do to the device they sit on, as a few numbers for the physics."""

from dataclasses import dataclass, replace
from random import Random

from quartermaster.clock import MINUTE_MS, SECOND_MS


@dataclass(frozen=True)
class Behaviour:
    """How busy a pod keeps its device. Ratios are 0–1; `sm`, `tensor`, `dram`, `heat` scale with it.

    `level` is the activity while it works; `rhythm` how far the time of day bends it (0 not, 1 fully);
    `duty` the part of its ten-minute windows in which it works at all; `dip` the part of the time between
    two checkpoints that each takes. From `quiet_after_ms` (since its start) on it does nothing; from
    `hung_after_ms` on it spins: GPU_UTIL says 100 and no work is done.
    """

    name: str
    level: float
    sm: float
    tensor: float
    dram: float
    heat: float
    memory: float  # of the device's memory
    rhythm: float = 0.0
    duty: float = 1.0
    dip: float = 0.0
    checkpoint_every_ms: int = 30 * MINUTE_MS
    quiet_after_ms: int | None = None
    hung_after_ms: int | None = None


NOTHING = Behaviour("nothing", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def training(random: Random) -> Behaviour:
    """A model in training: steadily busy, with a dip for each checkpoint."""
    return Behaviour(
        "training",
        level=random.uniform(0.82, 0.99),
        sm=random.uniform(0.75, 0.92),
        tensor=random.uniform(0.28, 0.52),
        dram=random.uniform(0.30, 0.55),
        heat=random.uniform(0.68, 0.92),
        memory=random.uniform(0.72, 0.95),
        dip=random.uniform(0.02, 0.07),
        checkpoint_every_ms=random.randrange(19 * 60, 47 * 60) * SECOND_MS,
    )


def batch(random: Random) -> Behaviour:
    """An element of a batch array: busy, without tensor cores to speak of, fed from disk."""
    return Behaviour(
        "batch",
        level=random.uniform(0.45, 0.85),
        sm=random.uniform(0.5, 0.7),
        tensor=random.uniform(0.02, 0.15),
        dram=random.uniform(0.2, 0.4),
        heat=random.uniform(0.4, 0.62),
        memory=random.uniform(0.25, 0.6),
        dip=0.03,
        checkpoint_every_ms=random.randrange(11 * 60, 23 * 60) * SECOND_MS,
    )


def server(random: Random) -> Behaviour:
    """A model server: memory full all day, activity after its users' clock."""
    return Behaviour(
        "server",
        level=random.uniform(0.45, 0.8),
        sm=random.uniform(0.45, 0.65),
        tensor=random.uniform(0.1, 0.25),
        dram=random.uniform(0.4, 0.6),
        heat=random.uniform(0.45, 0.6),
        memory=random.uniform(0.7, 0.9),
        rhythm=random.uniform(0.75, 0.97),
    )


def notebook(random: Random, quiet_after_ms: int | None) -> Behaviour:
    """A notebook: short bursts while somebody sits at it, then a context that nobody uses."""
    return Behaviour(
        "notebook",
        level=random.uniform(0.25, 0.7),
        sm=0.5,
        tensor=random.uniform(0.03, 0.2),
        dram=random.uniform(0.1, 0.3),
        heat=random.uniform(0.3, 0.5),
        memory=random.uniform(0.1, 0.5),
        duty=random.uniform(0.3, 0.6),
        quiet_after_ms=quiet_after_ms,
    )


def left_on(random: Random, quiet_after_ms: int) -> Behaviour:
    """A training whose work ends long before its pods do."""
    return replace(training(random), name="left on", quiet_after_ms=quiet_after_ms)


def hung(random: Random, hung_after_ms: int) -> Behaviour:
    """A training that loses a peer after a while: its kernels spin, and nothing is computed any more."""
    return replace(training(random), name="hung", hung_after_ms=hung_after_ms)
