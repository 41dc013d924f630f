"""Unknown is never idle: over random tellings, whoever is called idle was known and quiet on every device."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.found import Kind
from tests.depth import deep
from tests.findings.scene import BUSY_W, IDLE_W, Scene
from tests.usage.small import m

AT, WINDOW = 200, 60
# In each ten minutes a GPU says: idle, busy, idle with the power of work, nothing at all, or pages without activity.
WORDS = st.sampled_from(["busy", "warm", "silent", "blank"])
SAYINGS = st.dictionaries(st.integers(0, 19), WORDS, max_size=3).map(
    lambda told: [told.get(number, "idle") for number in range(20)]
)
FEW = settings(max_examples=deep(25, 5))  # each measures a cluster


def speak(scene: Scene, index: int, sayings: list[str]) -> None:
    for number, word in enumerate(sayings):
        start, end = number * 10, number * 10 + 9
        if word == "silent":
            continue
        activity = {"idle": 0, "busy": 800, "warm": 0, "blank": None}[word]
        scene.says(index, start, end, activity, BUSY_W if word in {"busy", "warm"} else IDLE_W)


@FEW
@given(st.tuples(SAYINGS, SAYINGS))
@pytest.mark.patient
def test_who_is_called_idle_was_known_and_quiet_on_every_device(told: tuple[list[str], list[str]]) -> None:
    scene = Scene(gpus=3, at=AT)
    scene.workload("Job", "train", 0, 1)
    scene.workload("Job", "other", 2, team="nlp")
    for index, sayings in enumerate(told):
        speak(scene, index, sayings)
    scene.busy(2)
    window = [sayings[(AT - WINDOW) // 10 :] for sayings in told]
    for found in scene.found():
        if found.kind is Kind.idle:
            # the first minutes of what is silent or blank are still spoken for by the page before: at most 2 of 10
            assert not {"busy", "silent", "blank"} & {word for words in window for word in words}
            if found.fit:
                assert {word for words in window for word in words} == {"idle"}
                assert found.since_ms <= m(AT - WINDOW)
    if all(set(words) == {"idle"} for words in window):
        assert any(found.kind is Kind.idle for found in scene.found())


@FEW
@given(SAYINGS)
@pytest.mark.patient
def test_the_cost_is_never_more_than_what_was_known_idle(sayings: list[str]) -> None:
    scene = Scene(gpus=3, at=AT)
    scene.workload("Job", "train", 0)
    scene.workload("Job", "other", 2, team="nlp")
    speak(scene, 0, sayings)
    scene.busy(2)
    quiet = sum(word in {"idle", "warm"} for word in sayings)
    for found in scene.found(price="6.00"):
        assert found.cost is not None
        assert (
            found.cost * 10 <= quiet * 12
        )  # 0.10 a minute; the last page of ten minutes speaks for two more
