"""The weekly report: figures from usage and charges written by hand, each added up by hand."""

from collections.abc import Generator
from decimal import Decimal

import pytest

from analytics.money.charges import charge
from analytics.reports.figures import GPU_HOUR_PMS, Amount, IdleRow, Report
from analytics.reports.weekly import latest_week, weekly
from quartermaster.clock import from_iso
from quartermaster.errors import InputError
from sql.ledger import memory_ledger
from tests.money.books import Books

NOW = from_iso("2026-11-30T08:00:00Z")


def hours(amount: Amount | int) -> Decimal:
    return Decimal(amount.pms if isinstance(amount, Amount) else amount) / GPU_HOUR_PMS


@pytest.fixture(scope="module")
def week() -> Generator[Books]:
    """2026-W48: 2.50 EUR a GPU-hour; 100 GPU-hours of capacity on Monday, and 20 in the week before."""
    with memory_ledger() as ledger:
        books = Books(ledger)
        books.card(unavailable="none", unobserved="held")
        books.rate("2.5")
        books.usage("2026-11-16T00:00:00Z", hours=10, gpus=2, team="vision", computing=1)
        books.usage(
            hours=10, gpus=4, team="vision", computing=0.6, unknown=0.1, faulted=0.2, workload="train"
        )
        books.usage(hours=10, gpus=1, team="speech", workload="notebook")
        books.usage(hours=10, gpus=5, unavailable=0.2, unobserved=0.1)
        books.guarantee("vision", 3, hours=10, within_pms=30 * GPU_HOUR_PMS, borrowed_pms=10 * GPU_HOUR_PMS)
        books.guarantee("archive", 2, hours=10, lent_pms=10 * GPU_HOUR_PMS)
        books.add(
            "teams_versions",
            team_id=1,
            team="vision",
            department="research",
            start_at="2026-01-01",
            revision=0,
        )
        books.name("train", "PyTorchJob", "resnet")
        books.name("notebook", "Notebook", "jana")
        books.rolled_until("2026-11-30T00:00:00Z")
        charge(books.fill(), 0, "UTC")
        yield books


@pytest.fixture(scope="module")
def report(week: Books) -> Report:
    return weekly(week.ledger, "2026-W48", now_ms=NOW)


@pytest.mark.patient
def test_the_fleet(report: Report) -> None:
    assert {name: hours(amount) for name, amount in report.split.parts} == {
        "computing": 24,
        "idle": 22,
        "unknown": 4,
        "unallocated": 35,
        "unavailable": 10,
        "unobserved": 5,
    }
    assert report.split.coverage == 46 / 50
    assert report.pool_cost == 250
    assert report.split.capacity.cost == 250
    assert {name: amount.cost for name, amount in report.split.parts} == {
        "computing": 60,
        "idle": 55,
        "unknown": 10,
        "unallocated": Decimal("87.5"),
        "unavailable": 25,
        "unobserved": Decimal("12.5"),
    }
    assert report.pool_cost_before == 50
    assert (report.span, report.currency, report.provisional) == ("2026-W48", "EUR", False)


def test_teams_owe_what_they_held_their_share_and_not_their_faults(report: Report) -> None:
    vision, speech, archive = report.by_team
    assert (vision.team, vision.department) == ("vision", "research")
    assert vision.split.held.cost == 100
    assert vision.shared == 10
    assert vision.adjustments == -20
    assert vision.cost == 90
    assert (vision.cost_before, vision.change) == (50, 40)
    assert [hours(pms) for pms in (vision.guaranteed_pms, vision.within_pms, vision.borrowed_pms)] == [
        30,
        30,
        10,
    ]
    assert (speech.team, speech.cost, speech.cost_before) == ("speech", Decimal("27.5"), 0)
    assert (archive.team, archive.cost, hours(archive.lent_pms)) == ("archive", 0, 10)
    assert report.billed == vision.cost + speech.cost
    assert report.adjustments == -20


def test_what_nobody_held_and_who_bears_it(report: Report) -> None:
    lines = {line.kind: line for line in report.own_lines}
    assert lines["unallocated"].own == Decimal("87.5")
    assert lines["unallocated"].treatment == "a line of its own"
    assert (lines["unavailable"].unbilled, lines["unavailable"].own) == (25, 0)
    assert lines["unavailable"].treatment == "nobody is asked to pay it"
    assert (lines["unobserved"].shared, lines["unobserved"].own) == (Decimal("12.5"), 0)
    assert lines["unobserved"].treatment == "shared by held time"


def test_every_cost_is_somewhere_once(report: Report) -> None:
    borne = report.billed - report.adjustments + sum(line.own + line.unbilled for line in report.own_lines)
    assert borne == report.pool_cost
    assert sum(pool.cost for pool in report.by_pool) == report.pool_cost
    assert sum(day.cost for day in report.by_day if day.is_team) == report.billed


def test_workloads_and_pools_have_their_names_and_prices(report: Report) -> None:
    train, notebook = report.by_workload
    assert (train.kind, train.namespace, train.name, train.team) == ("PyTorchJob", "ns", "resnet", "vision")
    assert (train.cost, train.adjustments) == (80, -20)
    assert (notebook.kind, notebook.cost) == ("Notebook", 25)
    assert report.workload_count == 2
    (pool,) = report.by_pool
    assert (pool.pool, pool.model, pool.unit_prices) == ("training", "NVIDIA H100", (Decimal("2.5"),))


def test_days(report: Report) -> None:
    assert [(day.day, day.name, day.cost) for day in report.by_day] == [
        ("2026-11-23", "speech", Decimal("27.5")),
        ("2026-11-23", "vision", 90),
        ("2026-11-23", "unallocated", Decimal("87.5")),
        ("2026-11-23", "unavailable", 25),
        ("2026-11-23", "unobserved", Decimal("12.5")),
    ]


def test_one_teams_report_has_only_what_is_its(week: Books) -> None:
    report = weekly(week.ledger, "2026-W48", "speech", now_ms=NOW)
    assert [row.team for row in report.by_team] == ["speech"]
    assert hours(report.split.capacity) == hours(report.split.held) == 10
    assert (report.billed, report.pool_cost) == (Decimal("27.5"), 25)
    assert report.own_lines == ()
    assert [row.name for row in report.by_workload] == ["jana"]
    assert {day.name for day in report.by_day} == {"speech"}


def test_a_team_with_a_guarantee_and_no_usage_has_a_report(week: Books) -> None:
    report = weekly(week.ledger, "2026-W48", "archive", now_ms=NOW)
    assert (report.billed, hours(report.by_team[0].guaranteed_pms)) == (0, 20)


def test_an_unknown_team_is_said_with_the_nearest(week: Books) -> None:
    with pytest.raises(InputError, match="no team vison in 2026-W48") as error:
        weekly(week.ledger, "2026-W48", "vison", now_ms=NOW)
    assert "vision" in error.value.hint


def test_a_week_without_usage_is_said_with_what_there_is(week: Books) -> None:
    with pytest.raises(
        InputError, match="no usage in 2026-W40: usage is known from 2026-11-16 to 2026-11-23"
    ):
        weekly(week.ledger, "2026-W40", now_ms=NOW)


@pytest.mark.patient
def test_two_currencies_do_not_add_up(books: Books) -> None:
    books.card("eur", end_at="2026-11-24T00:00:00Z")
    books.card("usd", start="2026-11-24T00:00:00Z", currency="USD")
    books.rate("1", card="eur")
    books.rate("1", card="usd")
    books.usage("2026-11-23T00:00:00Z", team="vision")
    books.usage("2026-11-24T00:00:00Z", team="vision")
    charge(books.fill(), 0, "UTC")
    with pytest.raises(InputError, match="EUR and USD"):
        weekly(books.ledger, "2026-W48", now_ms=NOW)


@pytest.mark.patient
def test_without_a_price_there_are_hours_and_no_costs(books: Books) -> None:
    books.usage(team="vision")
    report = weekly(books.fill(), "2026-W48", now_ms=NOW)
    assert not report.priced
    assert report.money(report.pool_cost) == "–"
    assert hours(report.split.held) == 1
    assert any("No rate card" in note for note in report.notes)


# --- the idlest -------------------------------------------------------------------------------------------


def idlest(books: Books) -> tuple[IdleRow, ...]:
    books.card()
    books.rate("1")
    charge(books.fill(), 0, "UTC")
    return weekly(books.ledger, "2026-W48", now_ms=NOW).idlest


@pytest.mark.patient
def test_a_forgotten_notebook(books: Books) -> None:
    books.usage(hours=5, team="a", computing=1, workload="nb")
    seen = {"activity_permille_pms": 0, "activity_peak_permille": 8, "power_peak_dw": 741}
    seen |= {"energy_j": 70 * 3600 * 10, "energy_known_pms": 10 * GPU_HOUR_PMS}
    books.usage("2026-11-23T05:00:00Z", hours=10, team="a", workload="nb", **seen)
    books.name("nb", "Notebook", "jana")
    (row,) = idlest(books)
    assert (row.why, row.wasted, row.devices) == ("idle", Amount(10 * GPU_HOUR_PMS, Decimal(10)), 1)
    assert row.last_computing_ms == from_iso("2026-11-23T05:00:00Z")
    assert row.signals == "0.0 % active on average, peak 0.8 %; 70 W a GPU on average, peak 74 W"
    assert "stop the notebook" in row.advice


@pytest.mark.patient
def test_a_hung_job(books: Books) -> None:
    books.usage(hours=10, gpus=8, team="a", computing=1, stalled=0.9, workload="job", activity_permille_pms=0)
    books.name("job", "Job", "train")
    (row,) = idlest(books)
    assert (row.why, row.wasted.cost) == ("stalled", 72)
    assert "log" in row.advice


@pytest.mark.patient
def test_a_job_that_stopped_computing_and_kept_its_gpus(books: Books) -> None:
    books.usage(hours=5, team="a", computing=1, workload="job")
    books.usage("2026-11-23T05:00:00Z", hours=3, team="a", workload="job")
    books.name("job", "Job", "train")
    (row,) = idlest(books)
    assert row.advice.startswith("it stopped computing and kept its GPUs")


@pytest.mark.patient
def test_a_gang_that_asked_for_too_much(books: Books) -> None:
    for device in range(8):
        books.usage(hours=10, team="a", computing=float(device < 5), device_id=device, workload="gang")
    books.name("gang", "PyTorchJob", "train")
    (row,) = idlest(books)
    assert (row.why, row.devices, row.idle_devices) == ("over-requested", 8, 3)
    assert "5 of its 8 GPUs" in row.advice


@pytest.mark.parametrize(
    ("kind", "computing", "told"),
    [
        ("Deployment", 0.3, "at night"),
        ("InferenceService", 0, "scale it to zero"),
        ("Job", 0, "nothing all week"),
        ("Job", 0.3, "waits for"),
        ("Pod", 0, "nothing all week"),
    ],
)
@pytest.mark.patient
def test_what_to_do_fits_the_kind(books: Books, kind: str, computing: float, told: str) -> None:
    books.usage(hours=10, team="a", computing=computing, workload="w")
    books.name("w", kind, "x")
    (row,) = idlest(books)
    assert told in row.advice


@pytest.mark.patient
def test_what_never_started(books: Books) -> None:
    books.usage(hours=10, team="a", not_started=1, workload="w")
    (row,) = idlest(books)
    assert row.why == "not started"
    assert "events" in row.advice
    assert row.workload.name  # without a name it has at least its id


@pytest.mark.patient
def test_the_idlest_are_ten_by_cost_and_none_that_mostly_works(books: Books) -> None:
    for number in range(12):
        books.usage(hours=1 + number, team="a", workload=f"w{number:02d}", device_id=number)
    books.usage(hours=20, gpus=8, team="a", computing=0.85, workload="busy")
    rows = idlest(books)
    assert len(rows) == 10
    assert [row.wasted.cost for row in rows] == list(range(12, 2, -1))


@pytest.mark.patient
def test_ten_of_the_hundred_and_more(books: Books) -> None:
    """The idlest may cost too little to be among the costliest workloads."""
    for number in range(101):
        books.usage(hours=2, team="a", computing=1, workload=f"w{number:03d}")
    books.usage(hours=1, team="a", workload="idle")
    books.card()
    books.rate("1")
    charge(books.fill(), 0, "UTC")
    report = weekly(books.ledger, "2026-W48", now_ms=NOW)
    assert (len(report.by_workload), report.workload_count, len(report.idlest)) == (100, 102, 1)


# --- what is not known ------------------------------------------------------------------------------------


@pytest.mark.patient
def test_notes_say_what_is_not_known(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(hours=10, team="unassigned", unknown=0.5, estimated=0.3, faulted=0.1, overbooked=0.2)
    books.usage(hours=10, unobserved=1)
    charge(books.fill(), 0, "UTC")
    books.usage("2026-11-24T00:00:00Z", team="vision")
    gap = {"cluster": "demo", "covers": "telemetry", "reason": "refused", "revision": 0}
    books.add("gaps_versions", **gap, gap_id=1, node="n1", start_at="2026-11-23T00:00:00Z")
    books.add("gaps_versions", **gap, gap_id=2, node="n2", start_at="2026-11-24T00:00:00Z")
    books.rolled_until("2026-11-24T01:00:00Z")
    books.rolled_until("2026-11-29T00:00:00Z", cluster="other")
    report = weekly(books.fill(), "2026-W48", now_ms=NOW)
    assert report.provisional
    assert report.known_until_ms == from_iso("2026-11-24T01:00:00Z")
    assert list(report.notes) == [
        "Provisional: the week is not complete (known until 2026-11-24 01:00 UTC).",
        "Not charged in full: 2026-11-24. Costs leave that time out.",
        "5.0 GPU-hours of held time (45.5 %) are unknown: no telemetry spoke. Unknown is not idle.",
        "10.0 GPU-hours are unobserved: nobody could tell whether they were held.",
        "3.0 GPU-hours of held time are estimated: they lie outside what evidence bounds.",
        "2.0 GPU-hours were claimed beyond what the devices have; they are not billed.",
        "10.0 GPU-hours were held by nobody's team (unassigned): add a team rule.",
        "1.0 GPU-hours of held time were faulted: 1.00 EUR of its cost are billed to nobody.",
        "Telemetry: 2 gaps on 2 nodes, because of refused.",
    ]


# --- which week -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "until", "week"),
    [
        (["2026-11-18", "2026-11-25"], "2026-11-30T00:00:00Z", "2026-W48"),
        (["2026-11-18", "2026-11-25"], "2026-11-29T23:00:00Z", "2026-W47"),
        (["2026-11-25"], "2026-11-26T00:00:00Z", "2026-W48"),
        (["2026-11-25"], None, "2026-W48"),
    ],
)
@pytest.mark.patient
def test_the_last_complete_week_or_the_current_one(
    books: Books, days: list[str], until: str | None, week: str
) -> None:
    for day in days:
        books.usage(f"{day}T00:00:00Z", team="vision")
    if until:
        books.rolled_until(until)
    assert latest_week(books.fill()) == week


@pytest.mark.patient
def test_an_empty_ledger_has_no_week(books: Books) -> None:
    with pytest.raises(InputError, match="no usage yet") as error:
        latest_week(books.ledger)
    assert "rollup" in error.value.hint
    with pytest.raises(InputError, match="there is none at all"):
        weekly(books.ledger, "2026-W48", now_ms=NOW)
