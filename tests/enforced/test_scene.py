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


@pytest.fixture
def chat() -> Iterator[Webhook]:
    with Webhook() as server:
        yield server


@pytest.fixture
def company(ground: Ground, tmp_path: Path, chat: Webhook) -> Iterator[Company]:
    """A holds 4 of 40 GPUs, B 32, C 4; A has four jobs of 8 GPUs, C a lab that does nothing."""
    make(ground.plane, "/api/v1/namespaces", {"metadata": {"name": "quartermaster"}})
    url = f"json://{chat.address}/"
    with Company(ground, tmp_path, {"a": 4, "b": 32, "c": 4}, url, quiet={"lab"}) as company:
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
def test_c_forgets_its_lab_is_warned_twice_and_gets_it_back(company: Company, chat: Webhook):
    company.until(lambda: "lab" not in company.running(), "C's lab is taken", 240)
    assert len(chat.heard) == 2
    company.job("ask", "b", gpus=8, pods=2)  # what the lab's node has now, and one job more
    seconds = company.until_runs("ask", pods=2)
    assert "train-3" not in company.running(), f"A's newest job gave way ({seconds:.1f} s)"
    company.drop("jobs", "ask")
    company.until_runs("train-3")
    company.run("restore", f"StatefulSet/{company.ground.namespace}/lab")
    company.until_runs("lab")
    company.end("enforce")
    company.run("audit", "verify")
