"""Statements: amounts rounded to cents by largest remainder, so that lines add up to their rounded total."""

from collections.abc import Mapping
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def to_cents(amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Each amount in whole cents, less than a cent off; together they are the total, rounded half up.

    The cents that rounding down leaves go to the largest remainders, ties by name. An amount in whole cents
    stays as it is.
    """
    floors = {name: amount.quantize(CENT, ROUND_FLOOR) for name, amount in amounts.items()}
    total = sum(amounts.values(), Decimal(0)).quantize(CENT, ROUND_HALF_UP)
    left = int((total - sum(floors.values(), Decimal(0))) / CENT)
    order = sorted(amounts, key=lambda name: (floors[name] - amounts[name], name))
    lifted = set(order[:left])
    return {name: floors[name] + (CENT if name in lifted else 0) for name in amounts}
