"""A day of 1,000 noisy GPUs: twelve metrics a row as sensors give them, by seed."""

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.float64]

START_MS = 1_790_000_000_000 // 7_200_000 * 7_200_000
METRICS = (
    *("gr_engine_permille", "gpu_util_permille", "sm_permille", "tensor_permille", "dram_permille"),
    *(
        "mem_copy_permille",
        "power_dw",
        "energy_j",
        "gpu_temp_c",
        "memory_temp_c",
        "sm_clock_mhz",
        "fb_used_mib",
    ),
)


class Noise:
    """GPUs that run jobs of some hours, three in ten idle; all sensors hang together.

    Noise (σ): activity 0.02, what follows it 1 % of itself, power 6 W busy and 0.4 W idle, temperatures 0.3 °C.
    """

    def __init__(self, gpus: int, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self.gpus = gpus
        self._level = self._random.uniform(0.3, 1.0, gpus)
        self._busy = self._random.random(gpus) < 0.7
        self._memory = self._random.integers(2_000, 80_000, gpus)
        self._warmth = np.full(gpus, 35.0, dtype=np.float64)
        self._energy = self._random.uniform(1e8, 9e8, gpus)
        # 63-bit ids without an order, as hashes are
        self.series = self._random.integers(0, 2**63 - 1, gpus, dtype=np.int64)

    def round(self, number: int, interval_ms: int = 30_000) -> dict[str, Numbers]:
        """What the sensors show in one round, by metric, in the units of `samples` but not yet rounded."""
        random, gpus = self._random, self.gpus
        changed = random.random(gpus) < 1 / 500
        self._busy = np.where(changed, random.random(gpus) < 0.7, self._busy)
        self._level = np.where(changed, random.uniform(0.3, 0.97, gpus), self._level)
        self._memory = np.where(changed, random.integers(2_000, 80_000, gpus), self._memory)
        active = np.where(self._busy, np.clip(self._level + random.normal(0, 0.02, gpus), 0, 1), 0.0)

        def follows(share: float) -> Numbers:
            return np.clip(active * share * (1 + random.normal(0, 0.01, gpus)), 0, 1)

        power_w = np.where(
            self._busy, 120 + 550 * active + random.normal(0, 6, gpus), 70 + random.normal(0, 0.4, gpus)
        )
        self._energy += power_w * interval_ms / 1000
        self._warmth += (30 + power_w / 15 - self._warmth) * 0.1
        return {
            "gr_engine_permille": active * 1000,
            "gpu_util_permille": np.ceil(active * 100) * 10,
            "sm_permille": follows(0.8) * 1000,
            "tensor_permille": follows(0.4) * 1000,
            "dram_permille": follows(0.3) * 1000,
            "mem_copy_permille": np.ceil(follows(0.2) * 100) * 10,
            "power_dw": power_w * 10,
            "energy_j": self._energy.copy(),
            "gpu_temp_c": np.rint(self._warmth + random.normal(0, 0.3, gpus)),
            "memory_temp_c": np.rint(self._warmth + 8 + random.normal(0, 0.3, gpus)),
            "sm_clock_mhz": np.where(self._busy, 1980 - 15 * (random.random(gpus) < 0.1), 345.0),
            "fb_used_mib": np.where(self._busy, self._memory, 4).astype(np.float64),
        }

    def rows(self, number: int, shown: dict[str, Numbers], interval_ms: int = 30_000) -> pl.DataFrame:
        """The round as rows of `samples`."""
        columns = {name: np.rint(value).astype(np.int64) for name, value in shown.items()}
        return pl.DataFrame({"series_id": self.series} | columns).with_columns(
            cluster=pl.lit("bench"),
            source=pl.lit("dcgm"),
            hold_ms=pl.lit(75_000),
            sampled_at=pl.lit(START_MS + number * interval_ms),
        )


def exposed(metric: str, shown: Numbers) -> Numbers:
    """The numbers as an exporter's page has them: ratios with six decimals, watts with three, millijoules."""
    if metric in {"gpu_util_permille", "mem_copy_permille"}:
        return np.rint(shown / 10)
    if metric.endswith("_permille"):
        return np.round(shown / 1000, 6)
    if metric == "power_dw":
        return np.round(shown / 10, 3)
    return np.rint(shown * 1000) if metric == "energy_j" else shown
