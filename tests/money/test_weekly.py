"""The weekly report: figures from usage and charges written by hand."""

from decimal import Decimal

from analytics.money.charges import charge
from analytics.reports.weekly import weekly


def test_a_small_week(books):
    books.card()
    books.rate("2.5")
    books.usage(hours=10, gpus=2, team="vision", computing=0.75)
    books.usage(hours=10, gpus=1)
    charge(books.fill(), 0, "UTC")
    report = weekly(books.ledger, "2026-W48", now_ms=0)
    assert report.split.capacity.gpu_hours == 30
    assert report.pool_cost == Decimal("75")
    assert report.billed == Decimal("50")
    assert report.split.idle.cost == Decimal("12.5")
    assert report.by_team[0].team == "vision"
    print(report)
