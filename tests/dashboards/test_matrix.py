"""Every page, as every role, light and dark, at a desk and on a telephone, over a ledger in each of its states.

`make test` in CI loads the first of the pairwise rows, `make browser` all of them, `make browser-all` every
combination. The figures that stand on the pages are compared with SQL.
"""

import os
import re
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analytics.reports import theme
from sql.ledger import open_ledger
from tests.dashboards.browser import SIDEWAYS, a_chromium, ground, open_page, served_as, settle
from tests.dashboards.conftest import _TEAMS
from tests.dashboards.pairwise import Row, pairs_of, pairwise
from tests.signin.walk import GROUPS, guarded

APP = files("dashboards.site") / "app.py"  # which runs when it is imported
LISTED = re.findall(r'Listed\(\w+\.render, "[^"]+", "([^"]*)"', APP.read_text(encoding="utf-8"))
COLUMNS = {
    "page": LISTED,
    "role": ["viewer", "owner", "manager", "finance", "admin"],
    "tone": ["light", "dark"],
    "width": ["1280", "390"],
    "ledger": ["full", "empty", "stale", "broken"],
}
FEW = 16
DEPARTMENTS = {team: of for team, (of, *_) in _TEAMS.items() if of}


def rows() -> Sequence[Row]:
    """The combinations to load: QM_BROWSER=pairwise or all for more than a few."""
    match os.environ.get("QM_BROWSER"):
        case "all":
            return list(product(*COLUMNS.values()))
        case "pairwise":
            return pairwise(COLUMNS)
        case _:
            return pairwise(COLUMNS)[:FEW]


def test_every_two_values_meet_in_few_loads() -> None:
    found = pairwise(COLUMNS)
    whole = {pair for row in product(*COLUMNS.values()) for pair in pairs_of(row)}
    assert set().union(*map(pairs_of, found)) == whole
    assert len(found) <= 80


@dataclass
class Servers:
    """A server for each state of the ledger, started when it is asked for."""

    make: Callable[..., Path]
    closing: ExitStack
    started: dict[str, tuple[str, Path]] = field(default_factory=dict[str, tuple[str, Path]])

    def url(self, state: str) -> str:
        """Where the pages over a ledger in that state are."""
        if state not in self.started:
            configuration = self.laid(state)
            url = self.closing.enter_context(served_as(configuration))
            self.started[state] = url, configuration.parent / "ledger"
        return self.started[state][0]

    def ledger(self, state: str) -> Path:
        """The ledger that these look at."""
        return self.started[state][1]

    def laid(self, state: str) -> Path:
        """A configuration with rules for every role, beside a ledger in that state."""
        path = self.make(usage=state != "empty")
        ledger = path.parent / "ledger"
        if state == "stale":  # the roll-up has stood still in the middle of the last week
            with open_ledger(ledger) as there:
                there.write(
                    "test/stale",
                    lambda cursor: (
                        cursor.execute(
                            "update rollup_marks set rolled_until_at = timestamptz '2026-11-25 00:00:00+00'"
                        )
                        and None
                    ),
                )
        configuration = guarded(path, DEPARTMENTS)
        if state == "broken":  # the catalog is there, the files that it names are not
            shutil.rmtree(ledger / "data")
            (ledger / "data").mkdir()
        return configuration


@pytest.fixture(scope="module")
def servers(a_ledger_of_a_week: Callable[..., Path]) -> Generator[Servers]:
    with ExitStack() as closing:
        yield Servers(a_ledger_of_a_week, closing)


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    with a_chromium() as found:
        yield found


@pytest.mark.browser
@pytest.mark.patient
@pytest.mark.parametrize("row", rows(), ids="-".join)
def test_a_page_is_whole(chromium: Browser, servers: Servers, row: Row) -> None:
    path, role, tone, width, state = row
    dressed: theme.Tone = "dark" if tone == "dark" else "light"
    page, seen = open_page(chromium, int(width), dressed, GROUPS[role])
    page.goto(f"{servers.url(state)}/{path}")
    settle(page)
    assert seen.errors == []
    assert seen.strangers == []
    assert page.evaluate(SIDEWAYS) == 0
    assert ground(page, "[data-testid=stApp]") == theme.palette(dressed)["background"]
    assert page.inner_text("h1").strip()
    said = page.inner_text("[data-testid=stMain]")
    assert "Traceback" not in said
    page.close()


FIGURES = {
    "": (
        "select sum(amount) from charges where account <> 'clearing' and business_day between $first and $last",
        0,
    ),
    "waste": (
        "select sum(unallocated_pms) / 604800000000 from usage_daily where business_day between $first and $last",
        2,
    ),
    "costs": ("select sum(amount) from charges where business_day between '2026-11-01' and '2026-11-30'", 0),
    "team": (
        "select sum(amount) from charges where team = 'vision' and account = 'team' "
        "and business_day between $first and $last",
        0,
    ),
}


@pytest.mark.browser
@pytest.mark.patient
@pytest.mark.parametrize("path", FIGURES)
def test_a_figure_on_a_page_is_the_ledger_s(chromium: Browser, servers: Servers, path: str) -> None:
    query, card = FIGURES[path]
    page, _ = open_page(chromium, 1280, "light", GROUPS["admin"])
    page.goto(
        f"{servers.url('full')}/{path}?week=2026-W47&team=vision"
        if path == "team"
        else f"{servers.url('full')}/{path}"
    )
    settle(page)
    said = page.locator(".qm .card").nth(card).inner_text()
    with open_ledger(servers.ledger("full"), read_only=True) as ledger:
        given = {"first": "2026-11-16", "last": "2026-11-22"} if "$first" in query else None
        expected = ledger.query(query, given).item()
    assert f"{expected:,.0f}" in said.replace("\u00a0", " ")
    page.close()


@pytest.mark.browser
@pytest.mark.patient
def test_a_link_leads_to_its_evidence(chromium: Browser, servers: Servers) -> None:
    page, seen = open_page(chromium, 1280, "light", GROUPS["admin"])
    page.goto(f"{servers.url('full')}/?week=2026-W47")
    settle(page)
    page.locator(".qm .worth li", has_text="vision").get_by_role("link").first.click()
    page.wait_for_url("**/waste?**")
    settle(page)
    assert page.inner_text("h1") == "Waste"
    assert "team=vision" in page.url
    assert "Team vision" in page.inner_text(".qm .top")
    assert "speech" not in page.inner_text("[data-testid=stMain]")
    assert seen.errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.patient
def test_the_menu_opens_on_a_telephone(chromium: Browser, servers: Servers) -> None:
    page, _ = open_page(chromium, 390, "light", GROUPS["admin"])
    page.goto(servers.url("full"))
    settle(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Waste").click()
    page.wait_for_url("**/waste*")
    settle(page)
    assert page.inner_text("h1") == "Waste"
    page.close()
