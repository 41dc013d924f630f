"""Parts: 1 GPU is 168,000 parts, so that sevenths, tenths, 64ths and thousandths of a GPU are whole numbers."""

import re

GPU_PARTS = 168_000

_PROFILE = re.compile(r"(?P<compute>\d+)g\.(?P<memory>\d+)gb")


def mig_slices(model: str) -> int:
    """How many compute slices MIG cuts the model into: 4 for the A30, 7 for every other GPU that has MIG."""
    return 4 if "A30" in re.split(r"[^A-Za-z0-9]+", model.upper()) else 7


def mig_parts(model: str, profile: str) -> int:
    """The parts of a MIG instance by its compute slices: `1g.10gb` of an H100 is a seventh of a GPU.

    Raises ValueError for text that is no MIG profile (`<compute>g.<memory>gb`, with or without `+me` and the like).
    """
    match = _PROFILE.match(profile.removeprefix("MIG ").strip())
    if match is None or not 1 <= int(match["compute"]) <= mig_slices(model):
        raise ValueError(f"{profile!r} is no MIG profile of {model or 'this model'}")
    return GPU_PARTS // mig_slices(model) * int(match["compute"])
