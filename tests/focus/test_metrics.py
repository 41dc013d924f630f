"""Metrics for Prometheus: given rows, expected gauges; bounded series; rules that promtool holds true."""

import json
import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from analytics.finance.metrics import Facts, families, read_facts
from analytics.finance.metrics_page import FRESH_S, LedgerMetrics, page_text, serve_page, write_page
from analytics.money.calendar import Calendar
from quartermaster.clock import from_iso
from quartermaster.errors import InputError, LedgerError
from sql.ledger import Ledger
from tests.focus.lines import GPU_HOUR_PMS, Lines
from tests.money.books import Books
from tests.servers.plugin import leave_out
from tests.servers.prometheus import HOW, PrometheusServer, prometheus_program

DEPLOY = Path(__file__).parents[2] / "deploy" / "prometheus"
NOON = from_iso("2026-11-23T12:00:00Z")
Gauges = dict[tuple[str, ...], float]


def told(gauges: Iterable[GaugeMetricFamily]) -> Gauges:
    """{(name, label values…): value} without the common prefix."""
    return {
        (gauge.name.removeprefix("quartermaster_"), *sample.labels.values()): sample.value
        for gauge in gauges
        for sample in gauge.samples
    }


@pytest.fixture(scope="module")
def filled(books: Books) -> Books:
    """An hour of two teams, what they owe, and a budget."""
    books.usage("2026-11-23T11:00:00Z", team="vision", gpus=4, computing=0.5, unknown=0.25)
    books.usage("2026-11-23T11:00:00Z", team="nlp", gpus=2)
    books.usage("2026-11-23T11:00:00Z", gpus=2, unavailable=0.5)
    books.usage("2026-11-23T10:00:00Z", team="vision", gpus=100)
    books.guarantee(
        "vision", 3, "2026-11-23T11:00:00Z", borrowed_pms=GPU_HOUR_PMS, waiting_pms=GPU_HOUR_PMS // 2
    )
    books.guarantee("nlp", 4, "2026-11-23T11:00:00Z", lent_pms=2 * GPU_HOUR_PMS)
    books.rolled_until("2026-11-23T12:00:00Z")
    lines = Lines()
    lines.line("10.5", business_day="2026-11-01")
    lines.line("-0.5", "adjustment", detail="lent")
    lines.line("3", "unallocated", "own")
    lines.line("99", business_day="2026-10-31")
    ledger = books.fill()
    lines.write(ledger)
    budget: dict[str, Any] = {"team": "vision", "currency": "EUR", "start_at": 0, "revision": 0}
    told = [
        {"budget_id": 1, "period": "", "amount": 500},
        {"budget_id": 2, "period": "2026-11", "amount": 40},
    ]
    ledger.append("metrics/budgets", {"budgets_versions": pl.DataFrame([budget | one for one in told])})
    return books


@pytest.mark.patient
def test_the_last_whole_hour_and_the_period_so_far(filled: Books) -> None:
    found = told(families(read_facts(filled.store, Calendar(), NOON)))
    hour = {
        ("team_computing_gpus", "demo", "training", "vision"): 2,
        ("team_idle_gpus", "demo", "training", "vision"): 1,
        ("team_unknown_gpus", "demo", "training", "vision"): 1,
        ("team_idle_gpus", "demo", "training", "nlp"): 2,
        ("team_guaranteed_gpus", "demo", "training", "vision"): 3,
        ("team_borrowed_gpus", "demo", "training", "vision"): 1,
        ("team_waiting_gpus", "demo", "training", "vision"): 0.5,
        ("team_lent_gpus", "demo", "training", "nlp"): 2,
        ("pool_capacity_gpus", "demo", "training"): 8,
        ("pool_unallocated_gpus", "demo", "training"): 1,
        ("pool_unavailable_gpus", "demo", "training"): 1,
    }
    money = {
        ("team_cost", "vision", "EUR"): 10,
        ("team_cost", "(nobody)", "EUR"): 3,
        ("team_budget", "vision", "EUR"): 40,
        ("period_start_timestamp_seconds",): from_iso("2026-11-01T00:00:00Z") / 1000,
        ("period_end_timestamp_seconds",): from_iso("2026-12-01T00:00:00Z") / 1000,
        ("rolled_up_timestamp_seconds", "demo"): NOON / 1000,
    }
    assert {key: found[key] for key in hour | money} == hour | money


def facts(teams: int) -> Facts:
    """An hour in which team n holds n GPUs and owes n."""
    used = [
        {
            "cluster": "c",
            "pool": "p",
            "team": f"t{n:04d}",
            "capacity_pms": n * GPU_HOUR_PMS,
            "computing_pms": 0,
        }
        | {"idle_pms": n * GPU_HOUR_PMS, "unknown_pms": 0}
        | dict.fromkeys(("unallocated_pms", "unavailable_pms", "unobserved_pms"), 0)
        for n in range(1, teams + 1)
    ]
    owed = [{"team": row["team"], "currency": "EUR", "amount": Decimal(n)} for n, row in enumerate(used, 1)]
    return Facts(Calendar().named("2026-11"), used, [], owed, [], [])


def test_teams_beyond_the_most_are_told_together_and_sums_stay() -> None:
    found = told(families(facts(1000), most_teams=10))
    idle = {key[3]: value for key, value in found.items() if key[0] == "team_idle_gpus"}
    assert len(idle) == 11
    assert set(idle) - {"(others)"} == {f"t{n:04d}" for n in range(991, 1001)}
    assert sum(idle.values()) == 1000 * 1001 / 2
    costs = {key[1]: value for key, value in found.items() if key[0] == "team_cost"}
    assert set(costs) == set(idle)
    assert sum(costs.values()) == 1000 * 1001 / 2


def test_a_ledger_without_lines_has_a_page(finance_ledger: Ledger) -> None:
    Lines().write(finance_ledger)
    found = told(families(read_facts(finance_ledger, Calendar(), NOON)))
    assert {name for name, *_ in found} == {"period_start_timestamp_seconds", "period_end_timestamp_seconds"}


def test_hostile_names_are_escaped() -> None:
    hostile = 'a"b\\c\nd{} 1'
    given = replace(facts(0), owed=[{"team": hostile, "currency": "EUR", "amount": Decimal(1)}])
    text = page_text(lambda: families(given)).decode()
    parsed = {family.name: family for family in text_string_to_metric_families(text)}
    assert parsed["quartermaster_team_cost"].samples[0].labels == {"team": hostile, "currency": "EUR"}


def test_a_ledger_that_cannot_be_read_tells_nothing_stale() -> None:
    now = [0.0]
    answers: list[Any] = [
        [GaugeMetricFamily("a", "", value=1)],
        LedgerError("gone"),
        [GaugeMetricFamily("b", "", 2)],
    ]

    def read() -> Iterable[GaugeMetricFamily]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    metrics = LedgerMetrics(read, lambda: now[0])
    assert told(metrics.collect()) == {("ledger_up",): 1, ("a",): 1}
    now[0] += FRESH_S / 2
    assert told(metrics.collect()) == {("ledger_up",): 1, ("a",): 1}, "it is not read again so soon"
    now[0] += FRESH_S
    assert told(metrics.collect()) == {("ledger_up",): 0}
    now[0] += FRESH_S
    assert told(metrics.collect()) == {("ledger_up",): 1, ("b",): 2}


def test_a_file_for_the_textfile_collector(tmp_path: Path) -> None:
    write_page(lambda: families(facts(1)), tmp_path / "q.prom")
    assert 'quartermaster_team_cost{currency="EUR",team="t0001"} 1.0' in (tmp_path / "q.prom").read_text()
    with pytest.raises(InputError, match=r"end in \.prom"):
        write_page(lambda: families(facts(1)), tmp_path / "q.txt")


def test_an_address_that_is_none_is_refused() -> None:
    for listen in ("127.0.0.1:99999", "127.0.0.1:http", "203.0.113.1:9502"):
        with pytest.raises(InputError, match="cannot be listened on"), serve_page(list, listen):
            raise AssertionError


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"[a-z_:]*quartermaster[a-z_:]+", expression))


def test_the_dashboard_and_the_rules_ask_only_for_what_there_is(filled: Books) -> None:
    dashboard = json.loads((DEPLOY / "dashboard.json").read_text())
    rules = (DEPLOY / "rules.yaml").read_text()
    there = {gauge.name for gauge in families(read_facts(filled.store, Calendar(), NOON))}
    there |= {"quartermaster_ledger_up"} | set(re.findall(r"record: (\S+)", rules))
    asked = {target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
    body = re.sub(r"(summary|name): .*", "", rules)
    assert set().union(*map(names_in, asked)) <= there
    assert names_in(body) <= there
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    assert all(panel["description"] and panel["title"] for panel in dashboard["panels"])


@pytest.mark.prometheus
def test_promtool_finds_the_rules_in_order_and_their_own_tests_pass() -> None:
    promtool = next(
        filter(None, (prometheus_program(generation, "promtool") for generation in ("3", "2"))), None
    )
    if promtool is None:
        leave_out("promtool", HOW["2"])
    for command in (("check", "rules", "rules.yaml"), ("test", "rules", "rules.test.yaml")):
        done = subprocess.run([promtool, *command], cwd=DEPLOY, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.prometheus
def test_a_real_prometheus_scrapes_it_and_answers_every_question_of_the_dashboard(
    filled: Books, prometheus: Callable[..., PrometheusServer]
) -> None:
    def read() -> Iterable[GaugeMetricFamily]:
        return families(read_facts(filled.store, Calendar(), NOON))

    with serve_page(read, "127.0.0.1:0") as address:
        server = prometheus([address])
        server.process.wait_for(lambda: bool(server.query("quartermaster_ledger_up")), "a scraped page", 30)
        (held,) = server.query('sum(quartermaster_team_idle_gpus{team="vision"})')
        assert float(held["value"][1]) == 1
        for panel in json.loads((DEPLOY / "dashboard.json").read_text())["panels"]:
            for target in panel["targets"]:
                server.query(target["expr"].replace("$team", ".*"))
        with urllib.request.urlopen(address, timeout=10) as response:
            assert b"quartermaster_ledger_up 1.0" in response.read()
