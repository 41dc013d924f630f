"""`quartermaster findings` on a ledger whose sources stopped telling: what nobody sees has not ended."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from cli import main
from quartermaster.clock import HOUR_MS, now_ms, to_iso
from sql.ledger import open_ledger
from tests.ledgers import lay_ledger, new_ledger

YAML = 'clusters: [{name: c, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]\n'


def findings(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told_ms: int | None
) -> tuple[list[object], str, str]:
    """What the command says, and the state of a finding that was open, when all sources told up to an instant."""
    (folder / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    opened = {"cluster": "c", "finding_id": 1, "start_at": now_ms() - 30 * HOUR_MS, "kind": "idle workload"}
    opened |= {"subject": "Job a/b", "state": "open", "revision": 0}
    with new_ledger(folder / "ledger") as ledger:
        ledger.append("test/1", {"findings_versions": pl.DataFrame([opened])})
        if told_ms is not None:
            mark = {"cluster": "c", "source": "dcgm", "covers": "telemetry", "complete_until_at": told_ms}
            history = mark | {"source": "prometheus", "complete_until_at": 0}
            ledger.append("test/2", {"watermarks": pl.DataFrame([mark, history])})
    monkeypatch.setattr(
        sys, "argv", ["quartermaster", "-c", str(folder / "quartermaster.yaml"), "findings", "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 0
    spoken = capsys.readouterr()
    with open_ledger(folder / "ledger", read_only=True) as ledger:
        state = ledger.query(
            "select case when end_at is null then 'open' else 'ended' end from findings"
        ).item()
    return json.loads(spoken.out), spoken.err, state


@pytest.mark.patient
def test_it_ends_while_the_sources_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings(tmp_path, monkeypatch, capsys, now_ms()) == ([], "", "ended")


@pytest.mark.patient
def test_it_stays_open_where_they_do_not_and_the_next_step_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told_ms = now_ms() - 2 * HOUR_MS
    found, said, state = findings(tmp_path, monkeypatch, capsys, told_ms)
    assert (found, state) == ([], "open")
    assert f"quartermaster findings --at {to_iso(told_ms)[:13]}:00Z" in said


@pytest.mark.patient
def test_nobody_has_told_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, said, state = findings(tmp_path, monkeypatch, capsys, None)
    assert (found, state) == ([], "open")
    assert "is quartermaster collect running?" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--team", "nope"], "there is no team 'nope'\n  try: the configuration has: unassigned"),
        (["--at", "2100-01-01T00:00:00Z"], "that is in the future"),
        (["--cluster", "nope"], "there is no cluster 'nope'\n  try: the configuration has: c"),
    ],
)
def test_what_cannot_be_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    said: str,
) -> None:
    file = tmp_path / "quartermaster.yaml"
    file.write_text(YAML, encoding="utf-8")
    lay_ledger(tmp_path / "ledger")
    monkeypatch.setattr(sys, "argv", ["quartermaster", "-c", str(file), "findings", *given])
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
