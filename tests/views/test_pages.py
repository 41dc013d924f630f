"""The pages run without a browser: full, empty, and what is asked from them."""

from collections.abc import Callable, Generator
from html import unescape
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboards import access
from sql.ledger import open_ledger
from tests.ledgers import lay_ledger, new_ledger
from tests.views.scene import configuration, fill


def fleet() -> None:
    from dashboards.pages import fleet

    fleet.render()


def queue() -> None:
    from dashboards.pages import queue

    queue.render()


def lending() -> None:
    from dashboards.pages import lending

    lending.render()


def quality() -> None:
    from dashboards.pages import quality

    quality.render()


def enforcer() -> None:
    from dashboards.pages import enforcer

    enforcer.render()


def ask() -> None:
    from dashboards.pages import ask

    ask.render()


@pytest.fixture(autouse=True)
def a_fresh_cache() -> Generator[None]:
    """No test sees what another read; what a test opened is closed."""
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    with new_ledger(folder / "ledger") as ledger:
        fill(ledger)
    return configuration(folder, folder / "ledger")


def run(page: Callable[[], None], file: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv(access.CONFIGURATION, str(file))
    shown = AppTest.from_function(page, default_timeout=60).run()
    assert not shown.exception
    return shown


def words(page: AppTest) -> str:
    """All HTML of the page as a reader sees it."""
    return unescape("".join(block.proto.body for block in page.get("html"))).replace("\u00a0", " ")


@pytest.mark.patient
@pytest.mark.parametrize(
    ("page", "told"),
    [
        (fleet, ("25 Nov", "n2 · main", "3g.40gb", "GPU 1")),
        (queue, ("13 GPUs", "place 2 of 3", "Team speech holds 0.5 of its guaranteed 2 GPUs")),
        (lending, ("2.0 GPU-h", "speech", "vision")),
        (quality, ("80.0 %", "refused", "kubernetes · main")),
        (enforcer, ("No plan yet", "Nothing is written in the audit yet.")),
        (ask, ("1,000 rows", "What the enforcer did")),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_each_page_of_a_full_ledger(
    page: Callable[[], None], told: tuple[str, ...], full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = words(run(page, full, monkeypatch))
    for piece in told:
        assert piece in text


@pytest.mark.patient
@pytest.mark.parametrize(
    "page", [fleet, queue, lending, quality, enforcer, ask], ids=lambda page: page.__name__
)
def test_each_page_of_an_empty_ledger(
    page: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_ledger(tmp_path / "ledger")
    text = words(run(page, configuration(tmp_path, tmp_path / "ledger"), monkeypatch))
    expected = {queue: "Nobody waits for GPUs.", ask: "1,000 rows"}
    assert expected.get(page, "No finished hour yet") in text


def test_a_node_and_an_earlier_hour(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run(fleet, full, monkeypatch)
    assert shown.select_slider("hour").value == "11:00"
    shown.select_slider("hour").set_value("10:00")
    shown.selectbox("node").set_value("n1")
    shown.run()
    assert not shown.exception
    assert "A past hour" in words(shown)
    assert "Notebook lab/drafts" in words(shown)


def test_freezing_is_asked_again(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run(enforcer, full, monkeypatch)
    button(shown, "Freeze").click()
    shown.run()
    with open_ledger(full.parent / "ledger", read_only=True) as ledger:
        assert ledger.query("select count(*) as n from requests").item() == 0, "it is asked again first"
    assert button(shown, "Yes, ask for it")


def button(page: AppTest, label: str):
    return next(each for each in page.button if each.label == label)
