"""The README's scene on a real scheduler: borrowed, warned, taken, given back, started again."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.enforced.company import Company
from tests.ladder.receivers import Webhook
from tests.servers.fleet import Ground
from tests.servers.objects import make

pytestmark = pytest.mark.controlplane
HELD_S = 240  # how long B's pods run on what A had, in the longer scene


@pytest.fixture
def chat() -> Iterator[Webhook]:
    with Webhook() as server:
        yield server


@pytest.fixture
def company(
    request: pytest.FixtureRequest, ground: Ground, tmp_path: Path, chat: Webhook
) -> Iterator[Company]:
    """A holds 4 of 40 GPUs, B 32, C 4; A has four jobs of 8 GPUs, C a lab that does nothing.

    Samples come every five seconds, or as often as the test says: an act wants them fresher than two intervals.
    """
    make(ground.plane, "/api/v1/namespaces", {"metadata": {"name": "quartermaster"}})
    url = f"json://{chat.address}/"
    interval_s: int = getattr(request, "param", 5)
    with Company(
        ground, tmp_path, {"a": 4, "b": 32, "c": 4}, url, quiet={"lab"}, interval_s=interval_s
    ) as company:
        company.run("ledger", "upgrade")
        company.begin("collect", "collect")
        for number in range(4):
            company.job(f"train-{number}", "a", gpus=8)
            company.until_runs(f"train-{number}")
            time.sleep(1.1)  # the API's times are whole seconds: who is the newest has to be seen
        company.lab("lab", "c", gpus=1)
        company.until_runs("lab")
        company.begin("enforce", "enforce", "--act", "--yes", "--json")
        yield company


def test_an_owner_gets_its_gpus_and_the_newest_borrower_runs_again_later(company: Company):
    company.until(lambda: company.turns() > 0, "a plan is made")
    company.job("ask", "b", gpus=8)
    company.until_runs("ask")
    assert company.running().keys() == {"train-0", "train-1", "train-2", "lab", "ask"}
    company.drop("jobs", "ask")
    company.until_runs("train-3")
    assert company.end("enforce") == 0
    done = [(each["act"], each["name"]) for each in company.ask("actions") if each["came"] == "done"]
    assert done == [("stop", "train-3"), ("start", "train-3")]
    assert company.ask("audit", "verify")


@pytest.mark.soak
@pytest.mark.parametrize("company", [10], indirect=True)
def test_c_forgets_its_lab_is_warned_twice_and_gets_it_back(company: Company, chat: Webhook):
    company.until(lambda: "lab" not in company.running(), "C's lab is taken", 500)
    assert len(chat.heard) == 2
    company.job("ask", "b", gpus=8, pods=2)  # what the lab's node has now, and one job more
    seconds = company.until_runs("ask", pods=2)
    assert "train-3" not in company.running(), f"A's newest job gave way ({seconds:.1f} s)"
    time.sleep(HELD_S)
    company.drop("jobs", "ask")
    company.until_runs("train-3")
    company.run("restore", f"StatefulSet/{company.ground.namespace}/lab")
    company.until_runs("lab")
    company.end("enforce")
    company.run("audit", "verify")
    the_week_says_so(company)


def the_week_says_so(company: Company) -> None:
    """Once the hour is over and rolled up: whose GPUs A had, and what the enforcer won back. It takes up to an hour."""
    company.until(lambda: _rolled(company), "an hour is rolled up", 4_200)
    week = company.ask("report")
    teams = {each["team"]: each for each in week["by_team"]}
    assert teams["a"]["borrowed"]["gpu_hours"] > 1
    assert teams["b"]["lent"]["gpu_hours"] > 1
    won = week["won_back"]
    assert (won["stopped"], won["started_again"]) == (2, 2)
    assert won["given"]["gpu_hours"] > 8 * HELD_S / 3600  # train-3's GPUs; the lab's one besides
    given = company.ask("won-back")
    assert [each["team"] for each in given["teams"]] == ["b"]
    (company.folder / "week.txt").write_text(company.run("report"), encoding="utf-8")


def _rolled(company: Company) -> bool:
    time.sleep(20)
    company.run("rollup")
    return company.ask("sql", "select count(*) as n from usage_daily")[0]["n"] > 0
