"""The largest remainder: sharing a whole number so that the shares add up to it, to the last unit."""

from collections.abc import Mapping


def share(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Share `total` units in proportion to `weights`; ties in the remainder go by name. Σ shares = total, exactly.

    A negative total is shared as its mirror image. Raises ValueError when a weight is negative, or when there is
    something to share and nothing weighs.
    """
    if any(weight < 0 for weight in weights.values()):
        raise ValueError("a weight is negative")
    whole = sum(weights.values())
    if whole == 0:
        if total:
            raise ValueError(f"{total} units cannot be shared: no weight is above zero")
        return dict.fromkeys(weights, 0)
    sign = -1 if total < 0 else 1
    floors = {name: abs(total) * weight // whole for name, weight in weights.items()}
    left = abs(total) - sum(floors.values())
    order = sorted(weights, key=lambda name: (-(abs(total) * weights[name] % whole), name))
    for name in order[:left]:
        floors[name] += 1
    return {name: sign * units for name, units in floors.items()}
