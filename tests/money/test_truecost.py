"""What a GPU-hour truly costs, worked by hand; and what cannot be."""

from dataclasses import replace
from decimal import Decimal

import pytest

from analytics.money.truecost import Bought, split, true_cost
from quartermaster.errors import InputError

BOUGHT = Bought(
    gpus=Decimal(64),
    purchase=Decimal(2_400_000),
    years=Decimal(5),
    watts=Decimal(58_000),
    kwh_price=Decimal("0.21"),
    pue=Decimal("1.3"),
    staff_a_year=Decimal(180_000),
    used=Decimal("0.7"),
)


def test_the_arithmetic_line_by_line() -> None:
    """2,400,000 ÷ 5 = 480,000.00; 58 kW × 8,760 h × 1.3 = 660,504 kWh × 0.21 = 138,705.84; staff 180,000.00.

    Together 798,705.84; ÷ (64 × 8,760 = 560,640 GPU-hours) = 1.424632277; ÷ 0.7 of them = 2.035188968."""
    cost = true_cost(BOUGHT)
    assert [(line.name, line.amount) for line in cost.lines] == [
        ("purchase", Decimal("480000.00")),
        ("power and cooling", Decimal("138705.84")),
        ("staff", Decimal("180000.00")),
    ]
    assert "660,504.00 kWh" in cost.lines[1].arithmetic
    assert cost.a_year.amount == sum(line.amount for line in cost.lines) == Decimal("798705.84")
    assert cost.at_full_use.amount == Decimal("1.424632277")
    assert cost.at_actual_use.amount == Decimal("2.035188968")


def test_a_node_split_as_aws_splits_a_p3_16xlarge() -> None:
    """10.00 ÷ (9 × 8 + 0.9 × 64 + 0.1 × 488) = 0.056054: its documentation has 0.056, 0.504 a GPU, 0.05 a vCPU."""
    lines = {line.name: line.amount for line in split(Decimal(10), Decimal(8), Decimal(64), Decimal(488))}
    assert {name: round(amount, 3) for name, amount in lines.items()} == {
        "gpu_hour": Decimal("0.504"),
        "cpu_hour": Decimal("0.050"),
        "memory_gib_hour": Decimal("0.006"),
    }
    whole = lines["gpu_hour"] * 8 + lines["cpu_hour"] * 64 + lines["memory_gib_hour"] * 488
    assert abs(whole - 10) < Decimal("0.000001")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"gpus": Decimal(0)}, "has GPUs"),
        ({"years": Decimal(0)}, "some years"),
        ({"pue": Decimal("0.9")}, "below 1"),
        ({"used": Decimal("1.2")}, "no part of one"),
        ({"staff_a_year": Decimal(-1)}, "no cost is below zero"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Decimal], told: str) -> None:
    with pytest.raises(InputError, match=told):
        true_cost(replace(BOUGHT, **wrong))
