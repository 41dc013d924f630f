"""Charges: what usage and a card give, line by line."""

from decimal import Decimal

import pytest

from analytics.money.charges import charge


def test_koku_worked_example(books):
    """An A100 of $3 for a day in sevenths: 2 h × 4, 6 h × 1, 2 h × 2 slices; Koku's documentation."""
    books.card(currency="USD")
    books.rate("3", model="*A100*")
    a100 = {"model": "NVIDIA A100-SXM4-40GB"}
    books.usage(hours=2, gpus=4 / 7, team="ml-train", **a100)
    books.usage(hours=6, gpus=1 / 7, team="inference", **a100)
    books.usage(hours=2, gpus=2 / 7, team="serving", **a100)
    books.usage(hours=1, gpus=150 / 7, **a100)
    charged = charge(books.fill(), 0, "UTC")
    assert charged.lines == 4
    assert {line["team"] or line["kind"]: line["amount"] for line in books.lines()} == {
        "ml-train": Decimal("3.428571"),
        "inference": Decimal("2.571429"),
        "serving": Decimal("1.714286"),
        "unallocated": Decimal("64.285714"),
    }
