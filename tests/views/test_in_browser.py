"""The pages in a real browser: at a desk and on a telephone; what is said is what the ledger holds."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from analytics.reports.theme import Tone
from sql.ledger import open_ledger
from tests.dashboards.test_browser import (  # the fixture too
    SIDEWAYS,
    Seen,
    chromium,  # noqa: F401  # pyright: ignore[reportUnusedImport]
    open_page,
    serve,
    settle,
)
from tests.ledgers import new_ledger
from tests.views.scene import HOSTILE, configuration, fill

pytestmark = [pytest.mark.browser, pytest.mark.patient]
PATHS = ("fleet", "queue", "lending", "enforcer", "quality", "sql")
_IMAGE = f"{HOSTILE}<img src=http://evil.example/i.png onerror=alert(1)>![i](http://evil.example/j.png)"


def lay(folder: Path, name: Callable[[str], str] = str) -> Path:
    with new_ledger(folder / "ledger") as ledger:
        fill(ledger, name)
    return configuration(folder, folder / "ledger")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def address(folder: Path) -> Generator[str]:
    yield from serve(lay(folder))


@pytest.fixture(scope="module")
def hostile_address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    yield from serve(lay(tmp_path_factory.mktemp("hostile"), lambda name: f"{name}{_IMAGE}"))


def visit(page: Page, address: str) -> str:
    page.goto(address)
    settle(page)
    return page.inner_text("[data-testid=stMain]").replace("\u00a0", " ")


@pytest.mark.parametrize(("width", "tone"), [(1280, "light"), (390, "dark")])
def test_each_page(chromium: Browser, address: str, width: int, tone: Tone) -> None:  # noqa: F811
    page, seen = open_page(chromium, width, tone)
    for path in PATHS:
        text = visit(page, f"{address}/{path}")
        assert "There is nothing to show" not in text, path
        assert page.evaluate(SIDEWAYS) == 0, path
    assert seen.strangers == []
    assert [error for error in seen.errors if "404" not in error] == []
    page.close()


def test_what_is_said_is_what_the_ledger_holds(chromium: Browser, address: str, folder: Path) -> None:  # noqa: F811
    page, _ = open_page(chromium, 1280, "light")
    with open_ledger(folder / "ledger", read_only=True) as ledger:
        lent = ledger.query("select sum(lent_pms) / 604800000000 as gpu_hours from lending_hourly").item()
        known = ledger.query(
            "select 100 * (1 - sum(unknown_pms) / sum(held_pms)) as percent from usage_daily"
        ).item()
        wanted = ledger.query(
            "select sum(gpu_parts) / 168000 as gpus from demand where end_at is null"
        ).item()
    assert f"{lent:.1f} GPU-h" in visit(page, f"{address}/lending")
    assert f"{known:.1f} %" in visit(page, f"{address}/quality")
    assert f"{wanted:.0f} GPUs" in visit(page, f"{address}/queue")
    page.close()


def test_a_link_carries_the_hour_and_the_node(chromium: Browser, address: str) -> None:  # noqa: F811
    page, _ = open_page(chromium, 1280, "light")
    text = visit(page, f"{address}/fleet?day=2026-11-25&hour=10:00&node=n1")
    assert "the hour from 10:00" in text
    assert "Notebook lab/drafts" in text
    assert page.locator(".gpus i").count() == 4
    page.close()


def test_freezing_and_keeping_are_asked_again_and_written(
    chromium: Browser,  # noqa: F811
    address: str,
    folder: Path,
) -> None:
    page, seen = open_page(chromium, 1280, "light")
    visit(page, f"{address}/enforcer")
    page.get_by_role("button", name="Freeze").click()
    page.get_by_label("Why").fill("the network")
    page.get_by_role("button", name="Yes, ask for it").click()
    page.get_by_role("button", name="Thaw").wait_for()
    settle(page)
    assert "Frozen: nothing is done" in page.inner_text("[data-testid=stMain]")
    visit(page, f"{address}/queue")
    page.set_viewport_size({"width": 1280, "height": 1400})  # the list opens where there is room
    page.get_by_role("combobox", name="Workload").click()
    page.get_by_role("option", name="Notebook/lab/drafts").click()
    keep = page.get_by_role("button", name="Keep", exact=True)
    keep.wait_for()
    page.wait_for_function("() => !document.querySelector('.st-key-decide button[disabled]')")
    keep.click()
    page.get_by_role("button", name="Yes, ask for it").click()
    page.get_by_role("dialog").wait_for(state="detached")
    with open_ledger(folder / "ledger", read_only=True) as ledger:
        asked = ledger.query("select kind, subject, words, asked_by from requests order by kind").rows()
    assert [row[:3] for row in asked] == [("freeze", "", "the network"), ("keep", "uid-11", "")]
    assert all(row[3].startswith("person-") for row in asked)
    assert [error for error in seen.errors if "404" not in error] == []
    page.close()


def test_a_question_is_answered(chromium: Browser, address: str) -> None:  # noqa: F811
    page, _ = open_page(chromium, 1280, "light")
    visit(page, f"{address}/sql?question=idle-by-team")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
    with page.expect_download() as taken:
        page.get_by_test_id("stDownloadButton").get_by_role("button").click()
    lines = Path(taken.value.path()).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("team,held_gpu_h")
    assert {line.split(",")[0] for line in lines[1:]} == {"vision", "speech"}
    page.close()


def test_hostile_names_do_nothing(chromium: Browser, hostile_address: str) -> None:  # noqa: F811
    page, seen = open_page(chromium, 1280, "light")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for path in ("fleet", "queue", "lending", "quality"):
        assert "<script>alert(1)</script>" in visit(page, f"{hostile_address}/{path}")
    assert (dialogs, seen) == ([], Seen(errors=seen.errors))
    page.close()
