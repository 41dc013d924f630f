"""How acting is told: to people once as long as it is the same, to machines one object a line; and how it ends."""

import json
import signal
from collections.abc import Iterator
from typing import Any, cast

import pytest

from cli.acting import _Teller, _until_told  # pyright: ignore[reportPrivateUsage]
from enforcer.freshness import Refusal
from enforcer.loop.loop import Loop
from sql.ledger import Ledger
from tests.enforcer.clusters import NOW
from tests.loop.sites import Stage

PAINT = "\x1b[31m\u202e"


class Said:
    """What a teller told."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *, as_json: bool) -> None:
        self.teller = _Teller(as_json=as_json)
        self._capsys = capsys

    def of(self, cluster: str, turned: Any) -> str:
        self.teller.tell(cluster, turned)
        return self._capsys.readouterr().out


@pytest.mark.patient
def test_who_does_not_lead_is_told_once_and_why(
    shared: Ledger, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stage, said = Stage(shared, cluster), Said(capsys, as_json=False)
    stage.leader.epoch, stage.leader.trouble = 0, f"{PAINT}host-2 has it"
    told = " ".join(said.of(cluster, stage.turns.turn()).split())
    sign = "\N{REPLACEMENT CHARACTER}"
    assert f"this enforcer does not lead, and does nothing: {sign}[31m{sign}host-2 has it." in told
    assert said.of(cluster, stage.turns.turn()) == ""
    stage.leader.trouble = "host-3 has it"
    assert "host-3 has it" in said.of(cluster, stage.turns.turn())


@pytest.mark.patient
def test_machines_are_told_one_object_a_line(
    shared: Ledger, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stage, said = Stage(shared, cluster), Said(capsys, as_json=True)
    text = said.of(cluster, stage.turns.turn())
    text += said.of(cluster, Refusal(cluster, NOW, ("the cluster is not seen in full yet",)))
    text += said.of(cluster, f"{PAINT}\nit is locked")
    plan, refusal, error = [json.loads(line) for line in text.splitlines()]
    assert (plan["not_leading"], sorted(plan["allowed"]), len(plan["deeds"])) == ("", [1, 2], 4)
    assert refusal["refused"] == ["the cluster is not seen in full yet"]
    assert error == {"cluster": cluster, "error": f"{PAINT}\nit is locked"}
    assert not {"\x1b", "\u202e"} & set(text)


@pytest.fixture
def handlers() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("handlers")
def test_a_loop_that_ended_by_itself_ends_the_command() -> None:
    class Ended:
        def check(self) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        _until_told([cast(Loop, Ended())])


@pytest.mark.usefixtures("handlers")
def test_it_ends_when_it_is_told_to() -> None:
    class Going:
        def check(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    _until_told([cast(Loop, Going())])
