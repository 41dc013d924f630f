"""Alerts, runbooks and the operators' dashboard: about metrics that there are, each with what to do."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.pulse import Pulse
from collector.health import Metrics as CollectorMetrics
from enforcer.loop.metrics import Metrics as EnforcerMetrics
from tests.servers.plugin import leave_out
from tests.servers.prometheus import HOW, prometheus_program

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "operations.yaml").read_text())["groups"][0][
    "rules"
]


def there() -> set[str]:
    """The names of all series that the parts may tell."""
    registries = (CollectorMetrics().registry, EnforcerMetrics().registry, Pulse("rollup", 1).registry)
    names: set[str] = set()
    for registry in registries:
        for family in registry.collect():
            endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(
                family.type, ("",)
            )
            names |= {family.name + each for each in endings}
    return names | {"quartermaster_up_part_running", "quartermaster_up_part_restarts_total"}


def asked(expression: str) -> set[str]:
    return set(re.findall(r"quartermaster_[a-z_]+", re.sub(r"\{[^}]*\}", "", expression)))


def test_every_alert_is_about_a_metric_that_there_is() -> None:
    for rule in RULES:
        assert asked(rule["expr"]) <= there(), rule["alert"]


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    written = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    assert [rule["alert"] for rule in RULES] == written
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in {"warning", "critical"}


def test_the_operators_dashboard_asks_only_for_what_there_is() -> None:
    board = json.loads((PROMETHEUS / "operations-dashboard.json").read_text(encoding="utf-8"))
    told = there() | {"quartermaster_rolled_up_timestamp_seconds"}
    for panel in board["panels"]:
        assert panel["title"], panel
        assert panel["description"]
        for target in panel["targets"]:
            assert asked(target["expr"]) <= told, panel["title"]
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))


def test_promtool_finds_the_alerts_in_order_and_their_own_tests_pass() -> None:
    found = (prometheus_program(generation, "promtool") for generation in ("3", "2"))
    promtool = next(filter(None, found), None)
    if promtool is None:
        leave_out("promtool", HOW["2"])
    for command in (("check", "rules", "operations.yaml"), ("test", "rules", "operations.test.yaml")):
        done = subprocess.run(
            [promtool, *command], cwd=PROMETHEUS, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", ["operations.yaml", "rules.yaml"])
def test_no_rule_stands_twice(file: str) -> None:
    groups = yaml.safe_load((PROMETHEUS / file).read_text(encoding="utf-8"))["groups"]
    names = [rule.get("alert") or rule.get("record") for group in groups for rule in group["rules"]]
    assert len(names) == len(set(names))
