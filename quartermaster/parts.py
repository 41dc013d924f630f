"""Parts: 1 GPU is 168,000 parts, so that its sevenths, tenths, 64ths and thousandths are whole numbers."""

import re

GPU_PARTS = 168_000

# Compute slices by words of the model's name (NVIDIA's MIG user guide, "Supported GPUs"); 7 for all others.
_FEWER_SLICES = (
    (("A30",), 4),
    (("A30X",), 4),
    (("RTX", "PRO", "6000"), 4),
    (("RTX", "PRO", "5000"), 2),
    (("RTX", "PRO", "4500"), 2),
    (("THOR",), 2),
)
_A30_PROFILES = {(1, 6), (2, 12), (4, 24)}  # compute and memory that no other GPU cuts
_PROFILE = re.compile(
    r"(?:mig[ -])?(?:(?P<cut>\d{1,2})c\.)?(?P<compute>\d{1,2})g\.(?P<memory>\d{1,4})gb(?:[+.-][a-z]+)*",
    re.IGNORECASE | re.ASCII,
)


def mig_slices(model: str) -> int:
    """How many compute slices MIG cuts the model into: 4 for the A30, 2 for a small RTX PRO, 7 for most."""
    words = re.split(r"[^A-Z0-9]+", model.upper())
    return next((slices for name, slices in _FEWER_SLICES if set(name) <= set(words)), 7)


def mig_parts(model: str, profile: str) -> int:
    """The parts of a MIG instance by its compute slices: `1g.10gb` of an H100 is a seventh of a GPU.

    The profile may be spelt as nvidia-smi, dcgm-exporter or device plugins do: `1g.10gb`, `MIG 1g.10gb+me`,
    `mig-1g.10gb.me`, and `1c.3g.20gb` for one compute slice of a `3g.20gb`. Without a model, what only
    an A30 has is an A30's. Raises ValueError for text that is no profile, or none of this model.
    """
    match = _PROFILE.fullmatch(profile.strip())
    if match is None:
        raise ValueError(f"{profile!r} is no MIG profile")
    compute = int(match["compute"])
    slices = mig_slices(model)
    if not model and (compute, int(match["memory"])) in _A30_PROFILES:
        slices = mig_slices("A30")
    taken = int(match["cut"] or compute)
    if not 1 <= taken <= compute <= slices:
        raise ValueError(f"{profile!r} is no MIG profile of {model or 'a GPU whose model is not known'}")
    return GPU_PARTS // slices * taken
