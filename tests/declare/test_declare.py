"""Declaring a configuration: versions, cuts, prices; twice is once; history is left alone."""

from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import pytest

from quartermaster.clock import DAY_MS, from_iso, to_iso
from quartermaster.config.load import parse_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.secret import Surroundings
from sql.catalog import Cursor
from sql.declare import declare
from sql.ledger import Ledger, memory_ledger

NOW = from_iso("2026-11-30T12:00:00Z")
TABLES = (
    "teams_versions",
    "team_rules_versions",
    "quotas_versions",
    "thresholds_versions",
    "cards_versions",
    "rates",
    "cuts",
)

BASE = """
clusters: [{name: a}, {name: b}]
pools: [{name: training}]
teams: [{name: vision, department: research}, {name: speech}]
team_rules: [{team: vision, namespace: "vision-*"}, {team: speech, label: {key: team, value: "sp*"}}]
guarantees: [{team: vision, pool: training, gpus: 16}, {team: speech, pool: training, gpus: 8, cluster: a}]
rate_cards: [{card: "2026", prices: [{model: "*H100*", gpu_hour: "3.10"}, {gpu_hour: "1.00"}]}]
"""


def configured(text: str) -> Configuration:
    return parse_configuration(text, "q.yaml", Surroundings({}, Path("/nowhere"), Path.read_text)).need()


@pytest.fixture(scope="module")
def shared() -> Generator[Ledger]:
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def ledger(shared: Ledger) -> Ledger:
    def empty(cursor: Cursor) -> None:
        for table in TABLES:
            cursor.execute(f"delete from lake.{table}")

    shared.write(f"empty/{uuid4().hex}", empty)
    return shared


def counts(ledger: Ledger) -> dict[str, int]:
    return {table: ledger.query(f"select count(*) as n from {table}")["n"][0] for table in TABLES}


def rows(ledger: Ledger, sql: str) -> list[tuple[object, ...]]:
    return ledger.query(sql).rows()


def spans(ledger: Ledger, view: str, columns: str, order: str) -> list[tuple[object, ...]]:
    return rows(
        ledger,
        f"select {columns}, strftime(start_at, '%Y-%m-%d %H'), strftime(end_at, '%Y-%m-%d %H') "
        f"from {view} order by {order}, start_at",
    )


@pytest.mark.patient
def test_a_first_declaration_holds_for_all_the_past(ledger: Ledger):
    said = declare(ledger, configured(BASE), NOW)
    assert "team speech: new" in said
    assert "guarantee vision in training of a: new" in said
    assert spans(ledger, "quotas", "cluster, team, guaranteed_parts", "cluster, team") == [
        ("a", "speech", 8 * 168_000, "1970-01-01 00", None),
        ("a", "vision", 16 * 168_000, "1970-01-01 00", None),
        ("b", "vision", 16 * 168_000, "1970-01-01 00", None),
    ]
    assert spans(ledger, "team_rules", "team, namespace_glob, label_key, label_glob", "position") == [
        ("vision", "vision-*", None, None, "1970-01-01 00", None),
        ("speech", "*", "team", "sp*", "1970-01-01 00", None),
    ]
    assert rows(
        ledger,
        "select card, version, position, model_glob, price::varchar, currency from rates order by position",
    ) == [
        ("2026", 1, 0, "*H100*", "3.100000000", "EUR"),
        ("2026", 1, 1, "*", "1.000000000", "EUR"),
    ]
    assert ledger.query("select * from thresholds where signal = 'power'").height == 3
    assert counts(ledger)["cuts"] == 0


@pytest.mark.patient
def test_twice_is_once(ledger: Ledger):
    assert declare(ledger, configured(BASE), NOW)
    before = counts(ledger)
    assert declare(ledger, configured(BASE), NOW + DAY_MS) == []
    assert counts(ledger) == before


@pytest.mark.patient
def test_a_changed_guarantee_begins_now_with_a_cut(ledger: Ledger):
    declare(ledger, configured(BASE), NOW)
    said = declare(ledger, configured(BASE.replace("gpus: 8", "gpus: 4")), NOW + DAY_MS)
    instant = to_iso(NOW + DAY_MS)
    assert said == [
        f"guarantee speech in training of a: holds until {instant}",
        f"guarantee speech in training of a: new from {instant}",
    ]
    assert spans(ledger, "quotas", "guaranteed_parts", "team") [:2] == [
        (8 * 168_000, "1970-01-01 00", "2026-12-01 12"),
        (4 * 168_000, "2026-12-01 12", None),
    ]  # fmt: skip
    assert rows(ledger, "select epoch_ms(cut_at) from cuts") == [(NOW + DAY_MS,)]
    assert declare(ledger, configured(BASE.replace("gpus: 8", "gpus: 4")), NOW + 2 * DAY_MS) == []


def test_a_stated_instant_counts_and_what_was_goes_on_until_then(ledger: Ledger):
    declare(ledger, configured(BASE), NOW)
    declare(ledger, configured(BASE.replace("gpus: 8", "gpus: 4, from: 2027-01-01")), NOW + DAY_MS)
    assert spans(ledger, "quotas where team = 'speech'", "guaranteed_parts", "team") == [
        (8 * 168_000, "1970-01-01 00", "2027-01-01 00"),
        (4 * 168_000, "2027-01-01 00", None),
    ]
    assert rows(ledger, "select epoch_ms(cut_at) from cuts") == [(from_iso("2027-01-01"),)]


@pytest.mark.patient
def test_what_leaves_the_file_ends_now_and_may_come_back(ledger: Ledger):
    declare(ledger, configured(BASE), NOW)
    without = BASE.replace('{team: vision, namespace: "vision-*"}, ', "")
    declare(ledger, configured(without), NOW + DAY_MS)
    declare(ledger, configured(BASE), NOW + 2 * DAY_MS)
    assert spans(ledger, "team_rules", "team", "position") == [
        ("vision", "1970-01-01 00", "2026-12-01 12"),
        ("vision", "2026-12-02 12", None),
        ("speech", "1970-01-01 00", None),
    ]


@pytest.mark.patient
def test_a_rule_put_before_another_leaves_the_other_alone(ledger: Ledger):
    declare(ledger, configured(BASE), NOW)
    more = BASE.replace("team_rules: [", 'team_rules: [{team: speech, namespace: "vision-audio"}, ')
    assert declare(ledger, configured(more), NOW + DAY_MS) == [
        f"rule speech: new from {to_iso(NOW + DAY_MS)}"
    ]
    assert [row[0] for row in rows(ledger, "select namespace_glob from team_rules order by position")] == [
        "vision-audio", "vision-*", "*",
    ]  # fmt: skip


@pytest.mark.patient
def test_a_changed_price_is_a_new_version_from_now(ledger: Ledger):
    declare(ledger, configured(BASE), NOW)
    declare(ledger, configured(BASE.replace("3.10", "3.50")), NOW + DAY_MS)
    assert spans(ledger, "rates where position = 0", "version, price::varchar", "version") == [
        (1, "3.100000000", "1970-01-01 00", None),
        (2, "3.500000000", "2026-12-01 12", None),
    ]
    assert spans(ledger, "cards", "card", "card") == [
        ("2026", "1970-01-01 00", "2026-12-01 12"),
        ("2026", "2026-12-01 12", None),
    ]
    assert declare(ledger, configured(BASE.replace("3.10", "3.50")), NOW + 2 * DAY_MS) == []


@pytest.mark.patient
def test_the_next_card_ends_the_one_before(ledger: Ledger):
    two = BASE + "  \n"
    two = two.replace(
        "]}]\n", ']}, {card: "2027", from: 2027-01-01, prices: [{gpu_hour: 2}], unallocated: even}]\n'
    )
    declare(ledger, configured(BASE), NOW)
    declare(ledger, configured(two), NOW + DAY_MS)
    assert spans(ledger, "cards", "card, share_unallocated", "start_at") == [
        ("2026", "own", "1970-01-01 00", "2027-01-01 00"),
        ("2027", "even", "2027-01-01 00", None),
    ]
    assert counts(ledger)["rates"] == 3
    assert declare(ledger, configured(two), from_iso("2027-06-01")) == []
    declare(ledger, configured(BASE), NOW + 2 * DAY_MS)
    assert spans(ledger, "cards", "card", "start_at") == [("2026", "1970-01-01 00", None)]
    assert counts(ledger)["rates"] == 3, "the prices in force are the ones there were"


@pytest.mark.patient
def test_a_department_changes_from_now_and_cuts_nothing(ledger: Ledger):
    declare(ledger, configured(BASE), NOW)
    declare(ledger, configured(BASE.replace("department: research", "department: physics")), NOW + DAY_MS)
    assert spans(ledger, "teams where team = 'vision'", "department", "team") == [
        ("research", "1970-01-01 00", "2026-12-01 12"),
        ("physics", "2026-12-01 12", None),
    ]
    assert counts(ledger)["cuts"] == 0


def test_own_floors_take_the_place_of_the_houses(ledger: Ledger):
    declare(
        ledger,
        configured(
            BASE + "thresholds: [{signal: gr_engine, floor: 0.05, kind: Notebook}, {signal: sm, floor: 0.1}]"
        ),
        NOW,
    )
    found = rows(
        ledger,
        "select signal, workload_kind, floor, measured_how from thresholds "
        "where signal in ('gr_engine', 'sm') order by measured_how, signal",
    )
    assert found == [
        ("gr_engine", "Notebook", 50, "configuration"),
        ("sm", "*", 100, "configuration"),
        ("gr_engine", "*", 20, "default"),
    ]
