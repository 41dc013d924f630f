"""In a real browser: the report and the Overview page, at a desk and on a phone, light, dark, on paper."""

import re
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analytics.reports import theme
from analytics.reports.figures import Report
from analytics.reports.html import render
from tests.dashboards.browser import SIDEWAYS, Seen, a_chromium, ground, open_page, serve, settle

pytestmark = pytest.mark.browser
WIDTHS = (1280, 390)
TONES: tuple[theme.Tone, ...] = ("light", "dark")
HOSTILE = "<img src=http://evil.example/i.png onerror=alert(1)>[a](http://evil.example)![i](http://evil.example/j.png)"


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    with a_chromium() as found:
        yield found


@pytest.fixture(scope="module")
def a_file(tmp_path_factory: pytest.TempPathFactory, a_week: Report) -> str:
    path = tmp_path_factory.mktemp("report") / "week.html"
    path.write_text(render(a_week), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_in_a_browser(chromium: Browser, a_file: str, width: int, tone: theme.Tone) -> None:
    page, seen = open_page(chromium, width, tone)
    page.goto(a_file)
    assert page.evaluate("document.fonts.ready.then(() => document.fonts.check('15px Inter'))")
    assert seen == Seen()
    assert page.evaluate(SIDEWAYS) == 0
    assert ground(page, "body") == theme.palette(tone)["background"]
    shown = [chart for chart in page.query_selector_all("[role=img]") if chart.is_visible()]
    assert len(shown) == 3
    page.close()


def test_the_report_on_paper(chromium: Browser, a_file: str) -> None:
    page, _ = open_page(chromium, 1280, "dark")
    page.goto(a_file)
    printed = page.pdf(prefer_css_page_size=True)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 5
    page.emulate_media(media="print", color_scheme="dark")
    assert ground(page, "body") == theme.palette("light")["background"]
    page.close()


@pytest.fixture(scope="module")
def served(a_ledger_of_a_week: Callable[..., Path]) -> Generator[str]:
    """The address of a dashboard over a week's ledger."""
    yield from serve(a_ledger_of_a_week())


@pytest.fixture(scope="module")
def served_hostile(a_ledger_of_a_week: Callable[..., Path]) -> Generator[str]:
    """The same, with names that try to be code."""
    yield from serve(a_ledger_of_a_week(lambda name: name + HOSTILE))  # pyright: ignore[reportUnknownLambdaType]


def test_a_shared_link_opens_as_the_first_thing_that_a_server_does(chromium: Browser, served: str) -> None:
    page, seen = open_page(chromium, 1280, "light")
    page.goto(f"{served}/?team=vision&week=2026-W48")
    settle(page)
    assert "Team vision cost" in page.inner_text(".qm .told")
    assert "week 48" in page.inner_text("h1")
    assert seen.strangers == []
    page.close()


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_in_a_browser(chromium: Browser, served: str, width: int, tone: theme.Tone) -> None:
    page, seen = open_page(chromium, width, tone)
    page.goto(served)
    settle(page)
    assert "The fleet cost" in page.inner_text(".qm .told")
    assert seen == Seen()
    assert page.evaluate(SIDEWAYS) == 0
    assert len(page.query_selector_all(".stVegaLiteChart")) == 3
    assert ground(page, "[data-testid=stApp]") == theme.palette(tone)["background"]
    assert ground(page, ".qm .lead") == theme.palette(tone)["surface"]
    assert page.evaluate("document.fonts.check('15px Inter')")
    assert not page.query_selector("[data-testid=stMainMenu], [data-testid=stAppDeployButton]")
    page.close()


def test_a_filter_goes_into_the_address_and_comes_back(chromium: Browser, served: str) -> None:
    page, _ = open_page(chromium, 1280, "light")
    page.goto(served)
    settle(page)
    page.get_by_role("combobox", name="Team").click()
    page.get_by_role("option", name="speech").click()
    page.wait_for_function(
        "() => document.querySelector('.qm .told')?.innerText.includes('Team speech')", timeout=60_000
    )
    settle(page)
    assert "team=speech" in page.url
    page.reload()
    settle(page)
    assert "Team speech cost" in page.inner_text(".qm .told")
    page.close()


def test_the_report_is_taken_along(chromium: Browser, served: str) -> None:
    page, _ = open_page(chromium, 1280, "light")
    page.goto(f"{served}/?week=2026-W48")
    settle(page)
    with page.expect_download() as taken:
        page.get_by_role("button", name="Report").click()
    assert taken.value.suggested_filename == "gpu-report-2026-W48.html"
    text = Path(taken.value.path()).read_text(encoding="utf-8")
    assert "week 48" in text
    assert "Provisional" in text
    page.close()


def test_hostile_names_do_nothing_in_the_page(chromium: Browser, served_hostile: str) -> None:
    page, seen = open_page(chromium, 1280, "light")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.goto(served_hostile)
    settle(page)
    page.get_by_role("combobox", name="Team").click()
    page.get_by_role("option", name="vision").click()
    page.wait_for_function(
        "() => document.querySelector('.qm .told')?.innerText.includes('Team vision')", timeout=60_000
    )
    settle(page)
    assert HOSTILE in page.inner_text(".qm .told")
    assert seen == Seen()
    assert dialogs == []
    assert page.evaluate(SIDEWAYS) == 0
    page.close()
