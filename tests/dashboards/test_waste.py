"""Waste: what is noted, what it comes to a month, what would fit a slice; and the page that says so."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analytics.reports.spreadsheet import table_csv
from analytics.reports.summary import price
from analytics.reports.tables import Column, Kind, Table
from analytics.reports.weekly import weekly
from analytics.scope import ALL, Scope
from analytics.views import waste_tables
from analytics.views.waste import Waste, a_month, fitting_sevenths, waste
from quartermaster.clock import DAY_MS, HOUR_MS, from_iso
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from sql.ledger import Ledger, open_ledger
from tests.dashboards.apptest import run, words

AT = from_iso("2026-11-27T12:00:00Z")
NOTEBOOK = content_id("workload", "vision-lab/jupyter-experiments")
HUNDRED_HOURS = {
    "gpus": "2",
    "idle_gpu_hours": "100.000",
    "devices": [{}, {}],
    "idle_devices": 2,
    "doubts": [],
}


def finding(kind: str, subject: str, team: str, **more: Any) -> dict[str, object]:
    row: dict[str, object] = {
        "cluster": "demo",
        "finding_id": content_id("finding", kind, subject),
        "start_at": AT - 50 * HOUR_MS,
        "end_at": None,
        "kind": kind,
        "subject": subject,
        "team": team,
        "signals": "[]",
        "coverage_permille": 1000,
        "cost": Decimal("310.000000"),
        "currency": "EUR",
        "evidence": json.dumps(HUNDRED_HOURS | {"workload_id": NOTEBOOK}),
        "state": "open",
        "revision": 0,
    }
    return row | more


FINDINGS = (
    finding("forgotten workspace", "Notebook vision-lab/jupyter-experiments", "vision"),
    finding(
        "stalled workload",
        "Job speech-train/conformer",
        "speech",
        cost=Decimal("155.000000"),
        evidence=json.dumps({"gpus": "1", "devices": [{}], "doubts": ["a", "b"]}),
    ),
    finding("idle workload", "Pod default/ended", "vision", end_at=AT - 20 * HOUR_MS),
    finding("idle workload", "Pod default/long-ago", "vision", start_at=0, end_at=AT - 30 * DAY_MS),
    finding("idle quota", "vision in training", "vision", cost=None, evidence="{}"),
    finding("never started", "Job default/broken", "search", cost=None, currency=None, evidence="no json"),
)


@pytest.fixture(scope="module")
def configuration(a_ledger_of_a_week: Callable[..., Path]) -> Path:
    path = a_ledger_of_a_week()
    with open_ledger(path.parent / "ledger") as ledger:
        rows = pl.DataFrame(list(FINDINGS), schema_overrides={"cost": pl.Decimal(18, 6)})
        ledger.append("test/findings", {"findings_versions": rows}, recorded_at=AT)
    return path


def found(ledger: Ledger, scope: Scope = ALL, team: str | None = None) -> Waste:
    return waste(ledger, scope, weekly(ledger, "2026-W48", team, scope=scope, now_ms=AT + 9 * DAY_MS))


def test_what_was_noted_while_the_week_lasted_and_what_it_comes_to(configuration: Path) -> None:
    with open_ledger(configuration.parent / "ledger", read_only=True) as ledger:
        noted = {each.subject: each for each in found(ledger).noted}
    assert list(noted) == [
        "Notebook vision-lab/jupyter-experiments",
        "Job speech-train/conformer",
        "Job default/broken",
        "Pod default/ended",
    ]
    notebook = noted["Notebook vision-lab/jupyter-experiments"]
    assert notebook.a_month == 2 * Decimal("3.10") * 730  # 310 for 100 GPU-hours, and both GPUs are idle
    stalled = noted["Job speech-train/conformer"]
    assert stalled.a_month == Decimal(155) / 50 * 730  # in 50 hours
    assert stalled.doubts == 2
    assert (noted["Job default/broken"].cost, noted["Job default/broken"].a_month) == (None, None)
    assert noted["Pod default/ended"].until_ms == AT - 20 * HOUR_MS


def test_a_reader_sees_their_teams_alone(configuration: Path) -> None:
    own = Scope(frozenset({"speech"}))
    with open_ledger(configuration.parent / "ledger", read_only=True) as ledger:
        assert {each.team for each in found(ledger, own).noted} == {"speech"}
        assert {each.team for each in found(ledger, ALL, "speech").noted} == {"speech"}
        whole = weekly(ledger, "2026-W48", "vision", now_ms=AT)
        with pytest.raises(InputError, match="no team"):
            waste(ledger, own, whole)


def test_a_month_is_a_twelfth_of_a_year() -> None:
    assert a_month(Decimal(70), 7 * DAY_MS) == Decimal("304.166667")
    assert a_month(Decimal(1), HOUR_MS) == 730


@pytest.mark.parametrize(
    ("model", "activity", "memory", "sevenths"),
    [
        ("NVIDIA H100 80GB HBM3", 140, 9_000, 1),
        ("NVIDIA H100 80GB HBM3", 140, 9_600, 2),
        ("NVIDIA H100 80GB HBM3", 143, 9_000, 2),
        ("NVIDIA A100-SXM4-80GB", 428, 38_000, 3),
        ("NVIDIA A100-SXM4-80GB", 429, 38_000, None),
        ("NVIDIA A100-SXM4-40GB", 100, 20_000, None),
        ("NVIDIA H200", 10, 10, None),  # its name does not say its memory
        ("Tesla T4 16GB", 10, 10, None),  # MIG cannot cut it
        ("NVIDIA A30 24GB", 10, 10, None),  # not cut into sevenths
    ],
)
def test_the_smallest_slice_that_would_have_done(
    model: str, activity: int, memory: int, sevenths: int | None
) -> None:
    assert fitting_sevenths(model, activity, memory) == sevenths


def test_what_stays_small_on_whole_gpus_would_fit_a_slice(
    a_ledger_of_a_week: Callable[..., Path], configuration: Path
) -> None:
    path = a_ledger_of_a_week()
    with open_ledger(path.parent / "ledger") as ledger:
        assert found(ledger).fitting == ()  # nothing tells how much memory it used

        def tell(cursor: Any) -> None:
            cursor.execute("update usage_daily set fb_used_peak_mib = 9000 where team = 'search'")

        ledger.write("test/memory", tell)
        (small,) = found(ledger).fitting
        assert found(ledger, Scope(frozenset({"vision"}))).fitting == ()
    held = 4 * 6 * 24  # GPU-hours of six days
    assert (small.title, small.sevenths) == ("Deployment search/embedder", 1)
    assert small.held_pms == held * 168_000 * HOUR_MS
    saved = Decimal("3.10") * held * 6 / 7 / 6 / DAY_MS * 730 * HOUR_MS
    assert small.saves_a_month == pytest.approx(saved)


def test_no_cell_of_the_file_is_a_formula() -> None:
    columns = (Column("=Name", Kind.TEXT), Column("Held", Kind.HOURS), Column("Cost", Kind.MONEY, "EUR"))
    row = ("=cmd()", 168_000 * HOUR_MS, Decimal("-1.5"))
    shares = Table("k", "t", "", (*columns, Column("Share", Kind.SHARE)), ((*row, (1, 4)), (*row, (0, 0))))
    assert table_csv(shares).splitlines() == [
        '\'=Name,Held,"Cost, EUR",Share',
        "'=cmd(),1.000000,-1.500000,0.250000",
        "'=cmd(),1.000000,-1.500000,",
    ]


@pytest.mark.parametrize(("given", "shown"), [("1", "1.00"), ("3.100000", "3.10"), ("1000.125", "1,000.125")])
def test_a_price_has_two_decimals_at_least(given: str, shown: str) -> None:
    assert price(Decimal(given)) == shown


def test_a_note_without_a_price_is_told_without_money() -> None:
    assert [column.label for column in waste_tables.now(Waste((), (), ""), 0).columns] == [
        "Workload",
        "Team",
        "What",
        "For",
        "GPUs",
        "Next step",
    ]


def test_the_page(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = words(run(configuration, monkeypatch, "waste", week="2026-W48", team="vision"))
    assert "16 workloads" not in text
    assert "Notebook vision-lab/jupyter-experiments" in text
    assert "310.00" in text
    assert "speech-train" not in text
    assert "That is, a month" in text
