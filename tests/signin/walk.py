"""All that a page sends to a browser, text, tables and drawings alike; and who looks at it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboards import access
from dashboards.granted import Identity

MARK = "-zq"  # behind every name of the ledger: no word of a page's own ends so
ACCESS = """
teams: [{teams}]
dashboards:
  sign_in: proxy
  address: https://gpu.example.org
  proxy: {{addresses: [10.0.0.7]}}
  access:
    - {{groups: [viewers], teams: [vision-zq]}}
    - {{groups: [owners], teams: [vision-zq], roles: [owner]}}
    - {{groups: [managers], departments: [research-zq], roles: [manager]}}
    - {{groups: [finance], roles: [finance]}}
    - {{groups: [admins], roles: [admin]}}
"""
GROUPS = {
    "viewer": "viewers",
    "owner": "owners",
    "manager": "managers",
    "finance": "finance",
    "admin": "admins",
    "nobody": "strangers",
}


def guarded(configuration: Path, departments: dict[str, str]) -> Path:
    """The configuration with rules for every role, beside the same ledger."""
    teams = ", ".join(f"{{name: {team}, department: {of}}}" for team, of in departments.items())
    here = configuration.with_name("guarded.yaml")
    here.write_text(configuration.read_text() + ACCESS.format(teams=teams))
    return here


def look(
    monkeypatch: pytest.MonkeyPatch,
    configuration: Path,
    group: str | None,
    page: str,
    *,
    address: dict[str, str] | None = None,
    kept: dict[str, Any] | None = None,
) -> AppTest:
    """The page as somebody of a group sees it (None: signed out), by an address and with what their session keeps."""
    identity = None if group is None else Identity("somebody", "", "Somebody", frozenset({group}))
    monkeypatch.setenv(access.CONFIGURATION, str(configuration))
    monkeypatch.setattr(access, "_identity", lambda: identity)
    script = f"from dashboards.pages import {page}\n{page}.render()\n"
    shown = AppTest.from_string(script, default_timeout=60)
    for name, value in (address or {}).items():
        shown.query_params[name] = value
    for name, value in (kept or {}).items():
        shown.session_state[name] = value
    shown.run()
    assert not shown.exception
    return shown


def sent(shown: AppTest) -> str:
    """Everything, as it goes over the wire."""
    return "\n".join(_parts(shown._tree))


def _parts(node: Any) -> Iterator[str]:
    proto = getattr(node, "proto", None)
    if proto is not None and hasattr(proto, "SerializeToString"):
        yield proto.SerializeToString().decode("utf-8", "replace")
    for child in getattr(node, "children", {}).values():
        yield from _parts(child)
