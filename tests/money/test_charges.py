"""Charges: what usage and a card give, line by line."""

from decimal import Decimal

import pytest

from analytics.money.charges import charge
from analytics.money.statement import to_cents
from quartermaster.errors import ConfigurationError, LedgerError
from quartermaster.parts import GPU_PARTS
from sql.ledger import memory_ledger
from tests.money.books import Books

A100 = "NVIDIA A100-SXM4-40GB"
HOUR_PMS = GPU_PARTS * 3_600_000


def told(books: Books, *names: str) -> dict[tuple[object, ...], Decimal]:
    """The lines by the values of the named columns, with their amounts."""
    lines = books.lines()
    found = {tuple(line[name] for name in names): line["amount"] for line in lines}
    assert len(found) == len(lines), "the names do not tell the lines apart"
    return found


def total(books: Books) -> Decimal:
    return sum((line["amount"] for line in books.lines()), Decimal(0))


# --- a price becomes a line -------------------------------------------------------------------------------


def test_koku_worked_example(books: Books) -> None:
    """An A100 of $3 for a day in sevenths: 2 h × 4, 6 h × 1, 2 h × 2 slices (Koku's documentation)."""
    books.card(currency="USD")
    books.rate("3", model="*A100*")
    books.usage(hours=2, gpus=4 / 7, team="ml-train", model=A100)
    books.usage(hours=6, gpus=1 / 7, team="inference", model=A100)
    books.usage(hours=2, gpus=2 / 7, team="serving", model=A100)
    books.usage(hours=1, gpus=150 / 7, model=A100)
    charge(books.fill(), 0, "UTC")
    lines = {line["team"] or line["kind"]: line["amount"] for line in books.lines()}
    assert lines == {
        "ml-train": Decimal("3.428571"),
        "inference": Decimal("2.571429"),
        "serving": Decimal("1.714286"),
        "unallocated": Decimal("64.285714"),
    }
    cents = to_cents(lines)
    assert cents["ml-train"] == Decimal("3.43")
    assert cents["inference"] == Decimal("2.57")
    assert cents["serving"] == Decimal("1.71")
    assert cents["unallocated"] == Decimal("64.29")
    assert sum(cents.values()) == Decimal("72.00")


def test_kokus_sharing_of_1000_by_8_6_4(books: Books) -> None:
    """Koku rounds to 444, 333, 222 and loses a dollar; the largest remainder does not."""
    books.card(unallocated="held")
    books.rate("100")
    books.usage(hours=1, gpus=0.8, team="ml-train")
    books.usage(hours=1, gpus=0.6, team="inference")
    books.usage(hours=1, gpus=0.4, team="serving")
    books.usage(hours=1, gpus=10)
    charge(books.fill(), 0, "UTC")
    shared = {line["team"]: line["amount"] for line in books.lines() if line["kind"] == "shared"}
    assert shared == {
        "ml-train": Decimal("444.444445"),
        "inference": Decimal("333.333333"),
        "serving": Decimal("222.222222"),
    }
    assert to_cents(shared) == {
        "ml-train": Decimal("444.45"),
        "inference": Decimal("333.33"),
        "serving": Decimal("222.22"),
    }


def test_each_line_says_how_much_of_what_at_which_price(books: Books) -> None:
    books.card()
    books.rate("2.50")
    books.usage(hours=4, gpus=2, team="vision")
    charge(books.fill(), 0, "UTC")
    (line,) = books.lines()
    assert line["business_day"] == "2026-11-23"
    assert (line["kind"], line["account"], line["detail"]) == ("base", "team", "")
    assert line["quantity_pms"] == 8 * HOUR_PMS
    assert line["unit_price"] == Decimal("2.5")
    assert line["amount"] == Decimal(20)
    assert line["currency"] == "EUR"
    assert line["corrects"] is None


def test_kinds_of_capacity_are_lines_of_their_own(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(hours=1, gpus=2, team="vision")
    books.usage(hours=1, gpus=5, unavailable=0.4, unobserved=0.2)
    charge(books.fill(), 0, "UTC")
    assert told(books, "kind", "account", "team") == {
        ("base", "team", "vision"): Decimal(2),
        ("unallocated", "own", None): Decimal(2),
        ("unavailable", "own", None): Decimal(2),
        ("unobserved", "own", None): Decimal(1),
    }


def test_a_price_is_rounded_once_for_the_pool_and_day(books: Books) -> None:
    """Three thirds of a millionth are a millionth, not nothing and not three."""
    books.card()
    books.rate("0.000001")
    for team in ("a", "b", "c"):
        books.usage(hours=1, gpus=1 / 3, team=team)
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {
        ("a",): Decimal("0.000001"),
        ("b",): Decimal(0),
        ("c",): Decimal(0),
    }


# --- what nobody held -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "vision", "speech"),
    [
        ("even", "5", "5"),
        ("held", "7.5", "2.5"),
        ("guarantee", "2", "8"),
    ],
)
@pytest.mark.patient
def test_unallocated_cost_is_shared(books: Books, way: str, vision: str, speech: str) -> None:
    books.card(unallocated=way)
    books.rate("1")
    books.usage(hours=1, gpus=3, team="vision")
    books.usage(hours=1, gpus=1, team="speech")
    books.usage(hours=1, gpus=10)
    books.guarantee("vision", 1)
    books.guarantee("speech", 4)
    charge(books.fill(), 0, "UTC")
    assert told(books, "kind", "account", "team", "detail") == {
        ("base", "team", "vision", ""): Decimal(3),
        ("base", "team", "speech", ""): Decimal(1),
        ("unallocated", "own", None, ""): Decimal(10),
        ("shared", "team", "vision", "unallocated"): Decimal(vision),
        ("shared", "team", "speech", "unallocated"): Decimal(speech),
        ("clearing", "clearing", None, "unallocated"): Decimal(-10),
    }


def test_even_sharing_reaches_a_team_that_has_only_a_guarantee(books: Books) -> None:
    books.card(unavailable="even")
    books.rate("1")
    books.usage(hours=1, gpus=1, team="vision")
    books.usage(hours=1, gpus=4, unavailable=1)
    books.guarantee("speech", 4)
    charge(books.fill(), 0, "UTC")
    shared = {line["team"]: line["amount"] for line in books.lines() if line["kind"] == "shared"}
    assert shared == {"vision": Decimal(2), "speech": Decimal(2)}


def test_what_nobody_could_share_stays_a_line_of_its_own(books: Books) -> None:
    books.card(unallocated="guarantee")
    books.rate("1")
    books.usage(hours=1, gpus=4, team="vision")
    books.usage(hours=1, gpus=4)
    charge(books.fill(), 0, "UTC")
    assert {line["kind"] for line in books.lines()} == {"base", "unallocated"}
    assert total(books) == 8


def test_none_asks_nobody_and_still_adds_up(books: Books) -> None:
    books.card(unobserved="none")
    books.rate("1")
    books.usage(hours=1, gpus=4, unobserved=1)
    charge(books.fill(), 0, "UTC")
    assert told(books, "kind", "account", "detail") == {
        ("unobserved", "own", ""): Decimal(4),
        ("adjustment", "own", "unobserved"): Decimal(-4),
        ("clearing", "clearing", "unobserved"): Decimal(4),
    }


# --- faults -----------------------------------------------------------------------------------------------


def test_faulted_time_is_not_the_teams_cost(books: Books) -> None:
    books.card()
    books.rate("2")
    books.usage(hours=4, gpus=1, team="vision", faulted=0.25)
    charge(books.fill(), 0, "UTC")
    assert told(books, "kind", "account", "team", "quantity_pms") == {
        ("base", "team", "vision", 4 * HOUR_PMS): Decimal(8),
        ("adjustment", "team", "vision", -HOUR_PMS): Decimal(-2),
        ("clearing", "clearing", None, HOUR_PMS): Decimal(2),
    }


def test_faulted_time_is_the_teams_cost_where_the_card_says_so(books: Books) -> None:
    books.card(bill_faulted=True)
    books.rate("2")
    books.usage(hours=4, gpus=1, team="vision", faulted=0.25)
    charge(books.fill(), 0, "UTC")
    assert told(books, "kind") == {("base",): Decimal(8)}


def test_what_is_wholly_faulted_costs_exactly_nothing(books: Books) -> None:
    books.card()
    books.rate("0.333333333")
    books.usage(hours=1, gpus=1 / 7, team="vision", faulted=1)
    books.usage(hours=1, gpus=6 / 7, team="speech")
    charge(books.fill(), 0, "UTC")
    owed = sum(line["amount"] for line in books.lines() if line["team"] == "vision")
    assert owed == 0


# --- prices change ----------------------------------------------------------------------------------------


def test_a_price_that_changes_within_the_day_makes_two_lines(books: Books) -> None:
    books.card()
    books.rate("1", end_at="2026-11-23T12:00:00Z")
    books.rate("3", start_at="2026-11-23T12:00:00Z")
    books.usage("2026-11-23T11:00:00Z", team="vision")
    books.usage("2026-11-23T12:00:00Z", team="vision")
    charge(books.fill(), 0, "UTC")
    assert told(books, "unit_price") == {(Decimal(1),): Decimal(1), (Decimal(3),): Decimal(3)}


def test_a_row_across_a_change_of_price_is_refused(books: Books) -> None:
    books.card()
    books.rate("1", end_at="2026-11-23T12:00:00Z")
    books.rate("3", start_at="2026-11-23T12:00:00Z")
    books.usage("2026-11-23T11:30:00Z", team="vision")
    with pytest.raises(LedgerError, match="across a change of price") as error:
        charge(books.fill(), 0, "UTC")
    assert "2026-11-23T11:30" in error.value.what
    assert error.value.hint
    assert books.lines() == []


def test_a_row_across_the_business_midnight_is_refused(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage("2026-11-23T18:00:00Z", team="vision")  # midnight in Kolkata is 18:30Z
    with pytest.raises(LedgerError, match="business midnight"):
        charge(books.fill(), 0, "Asia/Kolkata")


def test_a_row_across_the_first_cards_start_is_refused(books: Books) -> None:
    books.card(start="2026-11-23T00:30:00Z")
    books.rate("1")
    books.usage(team="vision")
    with pytest.raises(LedgerError, match="across"):
        charge(books.fill(), 0, "UTC")


def test_a_row_that_does_not_add_up_is_refused(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(team="vision", unallocated_pms=7)
    with pytest.raises(LedgerError, match="does not add up"):
        charge(books.fill(), 0, "UTC")


def test_the_next_card_takes_over_with_its_own_rules(books: Books) -> None:
    books.card("2026", unallocated="even", end_at="2026-11-24T00:00:00Z")
    books.card("2027", start="2026-11-24T00:00:00Z")
    books.rate("1")
    books.rate("2", card="2027")
    for day in ("2026-11-23", "2026-11-24"):
        books.usage(f"{day}T00:00:00Z", team="vision")
        books.usage(f"{day}T00:00:00Z")
    charge(books.fill(), 0, "UTC")
    assert told(books, "business_day", "kind") == {
        ("2026-11-23", "base"): Decimal(1),
        ("2026-11-23", "unallocated"): Decimal(1),
        ("2026-11-23", "shared"): Decimal(1),
        ("2026-11-23", "clearing"): Decimal(-1),
        ("2026-11-24", "base"): Decimal(2),
        ("2026-11-24", "unallocated"): Decimal(2),
    }


def test_a_new_version_of_a_card_replaces_its_price_list(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(team="vision")
    charge(books.fill(), 0, "UTC")
    books.rate("5", version=2)
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {("vision",): Decimal(5)}


def test_usage_before_the_first_card_has_no_charges_and_it_is_said(books: Books) -> None:
    books.card(start="2026-11-24T00:00:00Z")
    books.rate("1")
    books.usage("2026-11-23T00:00:00Z", team="vision")
    books.usage("2026-11-24T00:00:00Z", team="vision")
    charged = charge(books.fill(), 0, "UTC")
    assert charged.unpriced_until_ms == 1_795_478_400_000
    assert told(books, "business_day") == {("2026-11-24",): Decimal(1)}


def test_without_any_card_there_are_no_charges_and_it_is_said(books: Books) -> None:
    books.usage(team="vision")
    charged = charge(books.fill(), 0, "UTC")
    assert (charged.lines, charged.unpriced_until_ms) == (0, 1_795_395_600_000)


def test_an_empty_ledger_charges_nothing() -> None:
    with memory_ledger() as ledger:  # one that never had anything: what was taken out of the others' is due
        charged = charge(ledger, 0, "UTC")
    assert (charged.days, charged.changed_days, charged.lines, charged.unpriced_until_ms) == ((), (), 0, None)


# --- business days ----------------------------------------------------------------------------------------


def test_days_are_the_businesss(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage("2026-11-23T22:00:00Z", team="vision")
    books.usage("2026-11-23T23:00:00Z", team="vision")  # 24 November in Berlin
    charge(books.fill(), 0, "Europe/Berlin")
    assert told(books, "business_day") == {("2026-11-23",): Decimal(1), ("2026-11-24",): Decimal(1)}


def test_a_day_on_which_clocks_go_back_has_25_hours(books: Books) -> None:
    books.card()
    books.rate("1")
    for hour in range(25):
        instant = f"2026-10-{24 + (22 + hour) // 24}T{(22 + hour) % 24:02d}:00:00Z"
        books.usage(instant, team="vision")
    charge(books.fill(), 0, "Europe/Berlin")
    assert told(books, "business_day") == {("2026-10-25",): Decimal(25)}


def test_only_the_named_days_are_charged(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage("2026-11-23T00:00:00Z", team="vision")
    books.usage("2026-11-24T00:00:00Z", team="vision")
    charged = charge(books.fill(), 0, "UTC", ["2026-11-24"])
    assert charged.days == charged.changed_days == ("2026-11-24",)
    assert told(books, "business_day") == {("2026-11-24",): Decimal(1)}


# --- repeated ---------------------------------------------------------------------------------------------


def test_repeated_it_writes_nothing(books: Books) -> None:
    books.card(unallocated="held")
    books.rate("1.23")
    books.usage(hours=1, gpus=1 / 7, team="vision", faulted=0.5)
    books.usage(hours=1, gpus=6 / 7)
    first = charge(books.fill(), 1, "UTC")
    before = books.ledger.query("select * from charges order by all").to_dicts()
    snapshots = books.ledger.query("select count(*) as n from ducklake_snapshots('lake')").item()
    again = charge(books.ledger, 2, "UTC", everything=True)
    assert first.changed_days == ("2026-11-23",)
    assert again.changed_days == ()
    assert again.lines == first.lines == len(before)
    assert books.ledger.query("select * from charges order by all").to_dicts() == before
    assert books.ledger.query("select count(*) as n from ducklake_snapshots('lake')").item() == snapshots


@pytest.mark.patient
def test_changed_usage_replaces_its_day_alone(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage("2026-11-23T00:00:00Z", team="vision")
    books.usage("2026-11-24T00:00:00Z", team="vision")
    charge(books.fill(), 1, "UTC")
    books.usage("2026-11-24T01:00:00Z", team="vision")
    assert charge(books.fill(), 2, "UTC").changed_days == ("2026-11-24",)
    written = books.ledger.query(
        "select business_day, epoch_ms(recorded_at) as ms from charges order by 1"
    ).rows()
    assert written == [("2026-11-23", 1), ("2026-11-24", 2)]
    assert told(books, "business_day") == {("2026-11-23",): Decimal(1), ("2026-11-24",): Decimal(2)}


@pytest.mark.patient
def test_corrections_are_left_alone(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(team="vision")
    correction = {"charge_id": 1, "cluster": "demo", "business_day": "2026-11-23", "kind": "correction"}
    books.add("charges", **correction, amount="5", currency="EUR", corrects=2)
    charge(books.fill(), 0, "UTC")
    assert {line["kind"] for line in books.lines()} == {"base", "correction"}


# --- reports of wrong bills, each a test ------------------------------------------------------------------


def test_a_pod_that_never_starts_its_image_is_billed(books: Books) -> None:
    """'A GPU held by a pod stuck in ImagePullBackOff costs nothing.'"""
    books.card()
    books.rate("3")
    books.usage(hours=2, gpus=1, team="vision", not_started=1, unknown=1)
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {("vision",): Decimal(6)}


@pytest.mark.patient
def test_a_job_whose_end_arrives_late_is_taken_off_the_bill(books: Books) -> None:
    """'Completed Jobs still billed.'"""
    books.card()
    books.rate("1")
    books.usage("2026-11-24T00:00:00Z", team="vision")
    charge(books.fill(), 0, "UTC")
    run_delete(books, "delete from usage_hourly")
    run_delete(books, "delete from usage_daily")
    charged = charge(books.ledger, 0, "UTC")
    assert charged.changed_days == ("2026-11-24",)
    assert books.lines() == []


def test_a_pod_of_ten_seconds_is_billed_ten_seconds(books: Books) -> None:
    """'A 10 s pod without a record.'"""
    books.card()
    books.rate("3.60")
    books.usage(hours=10 / 3600, gpus=8, team="vision")
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {("vision",): Decimal("0.08")}


def test_a_quarter_of_an_hour_is_a_quarter_of_an_hour(books: Books) -> None:
    """'A 15-minute window that returns 10.'"""
    books.card()
    books.rate("4")
    books.usage("2026-11-23T00:00:00Z", hours=0.25, team="vision")
    books.usage("2026-11-23T00:15:00Z", hours=0.75, team="vision")
    charge(books.fill(), 0, "UTC")
    assert told(books, "team", "quantity_pms") == {("vision", HOUR_PMS): Decimal(4)}


def test_a_node_with_eight_gpus_is_eight_gpus(books: Books) -> None:
    """'A node with more than one GPU priced as one.'"""
    books.card()
    books.rate("3")
    for device in range(8):
        books.usage(hours=1, gpus=1, device_id=device, team="vision")
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {("vision",): Decimal(24)}


def test_four_quarters_are_one_gpu(books: Books) -> None:
    """'Whole-GPU price for four quarter-GPU pods.'"""
    books.card()
    books.rate("3")
    for pod in range(4):
        books.usage(hours=1, gpus=0.25, team="vision", workload=f"pod-{pod}")
    charge(books.fill(), 0, "UTC")
    assert sorted(line["amount"] for line in books.lines()) == [Decimal("0.75")] * 4


def test_two_clusters_keep_their_own_prices(books: Books) -> None:
    """'Two exporters mixing prices'; 'idle below zero (prices from two sources)'."""
    books.card()
    books.rate("1", cluster="a")
    books.rate("2", cluster="b")
    for cluster in ("a", "b"):
        books.usage(team="vision", cluster=cluster)
        books.usage(cluster=cluster)
    charge(books.fill(), 0, "UTC")
    assert told(books, "cluster", "kind") == {
        ("a", "base"): Decimal(1),
        ("a", "unallocated"): Decimal(1),
        ("b", "base"): Decimal(2),
        ("b", "unallocated"): Decimal(2),
    }


def test_every_vendors_gpu_has_a_price_or_is_an_error(books: Books) -> None:
    """'AMD GPUs ignored'; 'the price metric never set, so zero'."""
    books.card()
    books.rate("1", model="*H100*")
    books.usage(team="vision")
    books.usage(team="speech", model="AMD Instinct MI300X", pool="amd")
    with pytest.raises(ConfigurationError, match="AMD Instinct MI300X in pool amd of cluster demo") as error:
        charge(books.fill(), 0, "UTC")
    assert "rate card 2026" in error.value.what
    assert "AMD Instinct MI300X" in error.value.hint
    assert books.lines() == []
    books.rate("2", model="*Instinct*", position=1)
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {("vision",): Decimal(1), ("speech",): Decimal(2)}


def test_overbooked_time_is_nobodys_cost(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(team="vision")
    books.usage(team="speech", gpus=0, overbooked_pms=HOUR_PMS, device_id=None)
    charge(books.fill(), 0, "UTC")
    assert told(books, "team") == {("vision",): Decimal(1)}


def test_time_of_unknown_model_and_pool_is_not_lost(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(team="vision", model=None, pool=None)
    charge(books.fill(), 0, "UTC")
    assert told(books, "team", "model") == {("vision", None): Decimal(1)}


def run_delete(books: Books, statement: str) -> None:
    number = books.ledger.query("select max(snapshot_id) as n from ducklake_snapshots('lake')").item()
    books.ledger.write(f"delete/{number}", lambda cursor: cursor.execute(statement) and None)
