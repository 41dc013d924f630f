"""`rebalance` as a person types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.clock import HOUR_MS, now_ms
from quartermaster.errors import QuartermasterError
from quartermaster.parts import GPU_PARTS
from sql.declare import declare
from sql.ledger import Cursor
from tests.declare.test_declare import configured
from tests.ledgers import new_ledger

YAML = """\
clusters: [{name: main}]
pools: [{name: p}, {name: q}]
teams: [{name: a}, {name: b}]
guarantees: [{team: a, pool: p, gpus: 8}, {team: b, pool: p, gpus: 4}]
policy: {rebalance: [{pool: p, ceiling: 16, step_a_week: 2, without_approval: %d}]}
"""
Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command on a ledger in which a needed nothing and b 8 GPUs for eight days."""

    def needed(cursor: Cursor) -> None:
        end_ms = now_ms() // HOUR_MS * HOUR_MS
        cursor.execute(
            "insert into lake.quota_hourly (cluster, pool, team, row_start_at, row_end_at, held_pms, waiting_pms) "
            "select 'main', 'p', 'b', make_timestamptz(($end - n * $hour) * 1000), "
            "make_timestamptz(($end - (n - 1) * $hour) * 1000), $parts::bigint * $hour, 0 from range(1, 193) as t(n)",
            {"end": end_ms, "hour": HOUR_MS, "parts": 8 * GPU_PARTS},
        )

    with new_ledger(tmp_path / "ledger") as ledger:
        declare(ledger, configured(YAML % 0), 0)
        ledger.write("needed", needed)

    def command(*arguments: str, small: int = 0) -> Any:
        file = tmp_path / "quartermaster.yaml"
        file.write_text(YAML % small, encoding="utf-8")
        done = CliRunner().invoke(
            app, ["--config", str(file), "rebalance", *arguments], env={"COLUMNS": "200"}
        )
        if isinstance(done.exception, QuartermasterError):
            return done.exception
        assert done.exit_code == 0, (done.output, done.exception)
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return command


@pytest.mark.patient
def test_shown_applied_and_undone(run: Run) -> None:
    text = run()
    assert (
        "Moving 2 GPUs in pool p covers 6 GPUs of what its teams needed by guarantees, instead of 4 GPUs."
        in text
    )
    refused = run("--apply")
    assert isinstance(refused, QuartermasterError)
    assert "nobody to ask" in str(refused)
    (told,) = run("--apply", "--yes", "--json")
    assert [(each["team"], each["gpus"], each["proposed_gpus"]) for each in told["moves"]] == [
        ("a", "8", "6"), ("b", "4", "6"),
    ]  # fmt: skip
    assert (told["applied"], told["needs_approval"], told["moved_gpus"]) == (True, True, "2")
    assert "Nothing is to be moved in pool p" in run()  # this week
    back = run("--undo", "--yes", "--json")
    assert [(each["team"], each["gpus"]) for each in back] == [("a", "2"), ("b", "-2")]
    assert "Nothing that was moved stands" in run("--undo", "--yes")


@pytest.mark.patient
def test_small_steps_are_applied_without_asking_where_the_policy_says_so(run: Run) -> None:
    assert "It is moved in pool p" in run("--apply", small=2)


@pytest.mark.patient
def test_a_pool_without_bounds_is_refused(run: Run) -> None:
    refused = run("--pool", "q")
    assert isinstance(refused, QuartermasterError)
    assert "no bounds for pool 'q'" in str(refused)
