"""Whole spells of idleness, step by step: whatever people ask, whichever messages fail, the ladder keeps its laws."""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from enforcer.idleness import Findings, Idle, Notice, due
from enforcer.ladder.keep import kept
from enforcer.ladder.letter import Sent, write
from enforcer.ladder.rung import AGAIN, WARN, Rung
from quartermaster.config.policy import PolicyPart
from tests.enforcer.clusters import NOW, UTC
from tests.enforcer.scenes import job, scene
from tests.ladder.idlers import MIN, H, proof
from tests.ladder.receivers import notify

STEP = 5 * MIN
POLICY = PolicyPart.model_validate(
    {"idle": ({"kinds": ("*",), "warn": "30m", "again": "60m", "take": "90m", "keep_at_most": "3h"},)}
)
TO = notify("slack", "mail", routes=[{"channels": ["slack", "mail"]}], an_hour=4)
WORKLOAD = job("w", "b", "n1", gpus=8, ran=6_000)
EMPTY = scene(())


@dataclass
class Spell:
    """A workload from minute to minute, and all that its people were told and asked."""

    since_ms: int = NOW
    at_ms: int = NOW
    wish_ms: int = 0
    notices: list[Notice] = field(default_factory=list[Notice])
    sent: list[Sent] = field(default_factory=list[Sent])

    def found(self) -> Idle:
        found = Idle("w", self.since_ms, (proof(),), notices=tuple(self.notices))
        return kept(Findings((found,)), (WORKLOAD,), POLICY, [{"w": self.wish_ms}]).idle[0]

    def step(self, accepts: tuple[bool, bool]) -> str:
        """One cycle: what is due, and whom the channels let be told."""
        self.at_ms += STEP
        found = self.found()
        stage = due(found, WORKLOAD, replace(EMPTY, at_ms=self.at_ms), POLICY, UTC).stage
        if stage in {WARN, AGAIN}:
            rung = Rung("c", stage, WORKLOAD, found)
            post = write([rung], TO, {}, self.sent, policy=POLICY, zone=UTC, at_ms=self.at_ms)
            for letter in post.letters:
                accepted = accepts[letter.channel == "mail"]
                self.sent.append(Sent(letter.key, self.at_ms, accepted))
                if accepted:
                    self.notices.append(Notice(stage, self.at_ms))
        return stage


HAPPENS = st.tuples(
    st.sampled_from(["", "computes", "asks", "fails", "one fails"]),
    st.integers(1, 30),  # for how many cycles it is so
    st.integers(1, 60),  # for how many cycles people ask to keep it
)


@given(st.lists(HAPPENS, max_size=20))
def test_a_spell(story: list[tuple[str, int, int]]) -> None:
    spell = Spell()
    for what, cycles, asked in story:
        if what == "computes":
            spell.since_ms = spell.at_ms
        if what == "asks":
            spell.wish_ms = max(spell.wish_ms, spell.at_ms + asked * STEP)
        for _ in range(cycles):
            taken = spell.step((what != "fails", what not in {"fails", "one fails"})) == "take"
            holds(spell, taken=taken)
            if taken:
                return


def holds(spell: Spell, *, taken: bool) -> None:
    """The laws, after each cycle."""
    since = [each for each in spell.notices if each.at_ms > spell.since_ms]
    for stage in (WARN, AGAIN):
        assert len({each.at_ms for each in since if each.stage == stage}) <= 1, "a stage is told once a spell"
    for name in ("slack", "mail"):
        hour = [each for each in spell.sent if each.channel == name and each.at_ms > spell.at_ms - H]
        assert len(hour) <= 4
    if taken:
        first, second = (next(each.at_ms for each in since if each.stage == one) for one in (WARN, AGAIN))
        assert spell.since_ms + 30 * MIN <= first <= second - 30 * MIN
        assert max(second + 30 * MIN, spell.since_ms + 90 * MIN) <= spell.at_ms
        kept_ms = min(spell.wish_ms, max(spell.since_ms + 90 * MIN, first + 60 * MIN) + 3 * H)
        assert spell.at_ms >= kept_ms, "nobody is taken while kept"


@given(st.integers(0, 6), st.booleans())
def test_nobody_keeps_for_ever_by_asking_again(fails: int, from_the_start: bool) -> None:
    """Somebody who asks at every step is taken in the end: after twice the bound and the ladder at most."""
    spell = Spell()
    for count in range(500):
        if from_the_start or spell.notices:
            spell.wish_ms = spell.at_ms + 24 * H
        if spell.step((count >= fails, False)) == "take":
            break
    late_ms = spell.at_ms - spell.since_ms
    assert 90 * MIN + 3 * H <= late_ms <= 2 * (90 * MIN + 3 * H) + (fails + 2) * STEP
