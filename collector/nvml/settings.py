"""What the understanding of a host needs to know beside what is seen."""

from dataclasses import dataclass

from quartermaster.pool import PoolRule
from quartermaster.team import Rule

# Who tells activity, and who is believed about holders: everybody on a GPU, or Slurm's jobs alone.
NVML, SLURM = "nvml", "slurm"
# Believed after Kubernetes (10), before labels (90).
RANKS = {SLURM: 40, NVML: 50}


@dataclass(frozen=True, slots=True)
class Settings:
    """A host as its cluster's one node, and what the configuration says of teams and pools.

    `source` is nvml or slurm: with slurm a process outside any job holds nothing.
    """

    cluster: str
    node: str
    source: str = NVML
    interval_ms: int = 30_000
    pools: tuple[PoolRule, ...] = ()
    rules: tuple[Rule, ...] = ()
    person_key: bytes = b""

    @property
    def target(self) -> str:
        """How the ledger calls what was looked at."""
        return f"nvml://{self.node}"
