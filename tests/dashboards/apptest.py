"""A page run without a browser: what was chosen in its filters, and what it says."""

from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboards import access


def run(
    configuration: Path | None, monkeypatch: pytest.MonkeyPatch, page: str = "overview", **choices: str
) -> AppTest:
    """The page dashboards/pages/<page>.py after a run, with what was chosen in its filters."""
    if configuration is None:
        monkeypatch.delenv(access.CONFIGURATION, raising=False)
    else:
        monkeypatch.setenv(access.CONFIGURATION, str(configuration))
    script = f"from dashboards.pages import {page}\n{page}.render()\n"
    shown = AppTest.from_string(script, default_timeout=60).run()
    for name, value in choices.items():
        shown.selectbox(name).set_value(value)
        shown.run()
    assert not shown.exception
    return shown


def told(page: AppTest) -> str:
    """All HTML of the page."""
    return "".join(block.proto.body for block in page.get("html"))


def words(page: AppTest) -> str:
    """The same as a reader sees it."""
    return unescape(told(page)).replace("\u00a0", " ")
