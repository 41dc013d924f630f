"""Quirks: what real exporters and networks do wrong, each to be switched on for a node."""

from collections.abc import Sequence
from types import MappingProxyType

from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.errors import InputError

PAGE = MappingProxyType(
    {
        "absurd-utilization": "GPU_UTIL is 4294967295 on the first GPU and 808334905 on the second",
        "blanks": "power, energy, utilization and memory of the first GPU are DCGM's blanks",
        "clock-jump": "values carry timestamps, and every other ten minutes these are two hours behind",
        "counter-reset": "the energy counter starts anew every kilowatt-hour",
        "dra": "pods hold their GPUs by DRA claims: dra_* labels, and no pod_uid",
        "duplicates": "every row of the first GPU is there twice",
        "frozen": "the page stays as it was when the quirk was switched on",
        "hpc-job": "rows of held GPUs carry a Slurm job",
        "lingering-labels": "a finished pod's labels stay for thirty minutes on a GPU that nobody took since",
        "missing-fields": "no energy, no tensor and no DRAM activity",
        "mig-utilization-zero": "GPU_UTIL is there for MIG instances, and always 0",
        "no-mig-memory": "no FB_* on MIG instances",
        "no-prof": "no PROF metrics, as before Volta",
        "sharing-unflagged": "time-slicing without the sharing flag: one pod gets everything",
        "stuck-gr-engine": "GR_ENGINE_ACTIVE is 0, whatever GPU_UTIL says",
        "text-value": "the temperature of the first GPU is a text",
        "unescaped-label": "the first GPU's pod labels hold quotes and backslashes as they are",
        "vanishing-labels": "pod labels are away for ten minutes of each half hour",
    }
)
TRANSPORT = MappingProxyType(
    {
        "error-500": "answers 500",
        "gzip": "packs the page where the client takes it packed",
        "half-page": "ends the connection in the middle of the page",
        "hang": "takes the request and never answers",
        "other-exporter": "answers with a node_exporter's page",
        "refuse": "resets the connection",
        "slow-drip": "sends the page 1 kB at a time, with pauses",
    }
)
NAMES = (*PAGE, *TRANSPORT)

BLANK_INT32 = "2147483632"
BLANK_INT64 = "9223372036854775794"
BLANK_DOUBLE = "140737488355328.000000"
ABSURD = ("4294967295", "808334905")
NO_TEXT = "ERROR - FAILED TO CONVERT TO STRING"
KILOWATT_HOUR_MJ = 3_600_000_000
LINGERS_MS = 30 * MINUTE_MS
OTHER_PAGE = b"""# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 0.42
# HELP node_memory_MemFree_bytes Memory information field MemFree_bytes.
# TYPE node_memory_MemFree_bytes gauge
node_memory_MemFree_bytes 2.1474836e+10
"""


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """The names, once each and in order. Raises InputError for one that is no quirk's."""
    for name in names:
        if name not in NAMES:
            raise InputError(f"{name!r} is no quirk", f"one of {', '.join(sorted(NAMES))}")
    return tuple(sorted(set(names)))


def labels_vanish(now_ms: int) -> bool:
    """Whether `vanishing-labels` has the labels away now."""
    return now_ms // (10 * MINUTE_MS) % 3 == 0


def timestamp(now_ms: int) -> int:
    """The timestamp that `clock-jump` writes now."""
    return now_ms - 2 * HOUR_MS if now_ms // (10 * MINUTE_MS) % 2 else now_ms
