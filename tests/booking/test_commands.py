"""`book`, `offer` and `bookings` as a person types them."""

import getpass
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster import records
from quartermaster.clock import DAY_MS, from_iso, now_ms, to_datetime
from quartermaster.errors import QuartermasterError
from quartermaster.person import person_id, pseudonym, pseudonym_key
from sql.declare import declare
from tests.declare.test_declare import configured
from tests.ledgers import new_ledger

YAML = """\
business: {time_zone: Europe/Berlin}
clusters: [{name: main}, {name: far}]
pools: [{name: h100}, {name: empty}]
teams: [{name: vision}, {name: speech}]
team_rules: [{team: vision, namespace: "vision-*"}]
guarantees: [{team: speech, pool: h100, gpus: 8, cluster: main}]
"""
HOSTILE = "a\x1b[31m\u202eb [red]"
Run = Callable[..., Any]


def day(ahead: int) -> str:
    """A day so many days from now in Berlin."""
    there = to_datetime(now_ms() + ahead * DAY_MS).astimezone(ZoneInfo("Europe/Berlin"))
    return there.date().isoformat()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, and a ledger that knows 16 GPUs in cluster main."""
    found = tmp_path_factory.mktemp("booking")
    (found / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    with new_ledger(found / "ledger") as ledger:
        declare(ledger, configured(YAML), 0)
        ledger.append("nodes", {"nodes_versions": [records.Node("main", "n", 0, None, "h100", "H100", 16)]})
    return found


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs a command: what it says as JSON, or as text; or the error that it ends with."""

    def command(*arguments: str, as_json: bool = True) -> Any:
        file = str(folder / "quartermaster.yaml")
        more = ["--json"] if as_json else []
        done = CliRunner().invoke(app, ["--config", file, *arguments, *more], env={"COLUMNS": "200"})
        if isinstance(done.exception, QuartermasterError):
            return done.exception
        assert done.exit_code == 0, (done.output, done.exception)
        return json.loads(done.stdout) if as_json else done.stdout

    return command


@pytest.mark.patient
def test_booked_listed_and_cancelled(run: Run, folder: Path) -> None:
    told = run(
        *("book", "vision", "6", "--pool", "h100", "--cluster", "main"),
        *("--from", day(2), "--to", day(9), "--reason", HOSTILE),
    )
    midnight = from_iso(f"{day(2)}T00:00:00") - from_iso(told["from"])
    assert midnight in {3_600_000, 7_200_000}  # Berlin's
    assert {name: told[name] for name in ("kind", "team", "pool", "gpus", "new")} == {
        "kind": "booking", "team": "vision", "pool": "h100", "gpus": "6", "new": True,
    }  # fmt: skip
    who = pseudonym(person_id(pseudonym_key(None, folder / "ledger"), getpass.getuser()))
    (listed,) = run("bookings")
    assert listed == {name: value for name, value in told.items() if name != "new"}
    assert listed["asked_by"] == who
    shown = run("bookings", as_json=False)
    assert "+6 GPUs" in shown
    assert told["id"][:8] in shown
    assert not {"\x1b", "\u202e"} & set(shown)
    gone = run("bookings", "--cancel", told["id"][:8])
    assert (gone["cancelled"], gone["to"]) == (True, told["from"])
    assert run("bookings") == []
    assert "no booking and no offer" in run("bookings", as_json=False)


@pytest.mark.patient
def test_an_offer_from_now_on_makes_room_for_a_booking(run: Run) -> None:
    book = ("book", "vision", "10", "--pool", "h100", "--cluster", "main", "--to", day(3))
    refused = run(*book)
    assert "18 GPUs would be promised in pool h100, which has 16 GPUs" in refused.what
    offer = ("offer", "speech", "3", "--pool", "h100", "--cluster", "main", "--to", day(4))
    first = run(*offer)
    again = run(*offer)
    assert (first["new"], again["new"], again["id"]) == (True, False, first["id"])
    assert "It is there already: 3 GPUs fewer for speech in pool h100" in run(*offer, as_json=False)
    booked = run(*book, as_json=False)
    assert "10 GPUs more for vision in pool h100 of cluster main, from " in booked
    assert f"{day(3)} 00:00 (Europe/Berlin)." in booked
    (_, by_vision) = sorted(run("bookings"), key=lambda each: each["team"])
    assert "cancel first what others have booked of it" in run("bookings", "--cancel", first["id"]).hint
    assert "has ended" in run("bookings", "--cancel", by_vision["id"], as_json=False)
    assert "has ended" in run("bookings", "--cancel", first["id"], as_json=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("vison", "1", "--pool", "h100"), "there is no team 'vison' (did you mean vision?)"),
        (("vision", "1", "--pool", "h10"), "there is no pool 'h10' (did you mean h100?)"),
        (("vision", "1", "--pool", "empty"), "pool empty, which has 0 GPUs"),
        (("vision", "none", "--pool", "h100"), "a number of GPUs is 16 or 0.5"),
        (("vision", "0", "--pool", "h100"), "about no GPUs"),
        (("vision", "1", "--pool", "h100", "--from", "2026-02-30"), "'2026-02-30' is no day"),
        (("vision", "1", "--pool", "h100", "--from", day(-3)), "begins in the past"),
        (("vision", "1", "--pool", "h100", "--cluster", "nowhere"), "there is no cluster 'nowhere'"),
    ],
)
@pytest.mark.patient
def test_what_is_wrong_is_said(run: Run, arguments: tuple[str, ...], words: str) -> None:
    cluster = () if "--cluster" in arguments else ("--cluster", "main")
    assert words in run("book", *arguments, "--to", day(9), *cluster).what


def test_a_cluster_is_named_where_there_are_more(run: Run) -> None:
    assert "more than one cluster" in run("offer", "speech", "1", "--pool", "h100", "--to", day(2)).what


@pytest.mark.patient
def test_what_is_cancelled_is_one_that_there_is(run: Run) -> None:
    for each in ("", "zz", "0000000000000000"):
        assert "no booking or offer that stands or comes" in run("bookings", "--cancel", each).what
