"""The scene of the README on a real scheduler: lent, warned, taken, given back, started again."""

from pathlib import Path

import pytest

from tests.enforced.company import Company
from tests.ladder.receivers import Webhook
from tests.servers.fleet import Ground
from tests.servers.objects import make

pytestmark = pytest.mark.controlplane


def test_a_borrows_c_forgets_b_asks_and_everybody_gets_back_what_is_theirs(ground: Ground, tmp_path: Path):
    make(ground.plane, "/api/v1/namespaces", {"metadata": {"name": "quartermaster"}})
    guarantees = {"a": 4, "b": 32, "c": 4}
    with (
        Webhook() as chat,
        Company(ground, tmp_path, guarantees, f"json://{chat.address}/", quiet={"lab"}) as company,
    ):
        company.run("ledger", "upgrade")
        company.begin("collect", "collect")
        for number in range(4):
            company.job(f"train-{number}", "a", gpus=8)
            company.until(lambda n=number: company.running().get(f"train-{n}") == 1, "A borrows")
        company.lab("lab", "c", gpus=1)
        company.until(lambda: company.running().get("lab") == 1, "C's lab runs")
        company.begin("enforce", "enforce", "--act", "--yes")
        company.until(lambda: "lab" not in company.running(), "C's lab is warned twice and taken", 120)
        assert len(chat.heard) >= 2
        company.job("ask", "b", gpus=8, pods=2)
        seconds = company.until(lambda: company.running().get("ask") == 2, "B gets its GPUs", 60)
        assert "train-3" not in company.running(), f"A's newest job gave way ({seconds:.1f} s)"
        assert {"train-0", "train-1", "train-2"} <= company.running().keys()
        company.drop("jobs", "ask")
        company.until(lambda: company.running().get("train-3") == 1, "A's job runs again", 90)
        company.run("restore", f"StatefulSet/{ground.namespace}/lab")
        company.until(lambda: company.running().get("lab") == 1, "C's lab runs again")
        company.end("enforce")
        company.run("audit", "verify")
