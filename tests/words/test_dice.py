"""What the suite promises of chance: a thread of a test before that throws the global dice fails no property."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st


def test_the_global_dice_thrown_during_a_draw_fail_no_property() -> None:
    """`email.utils.make_msgid` throws them while a mail is on its way; Hypothesis takes it for the strategy's."""
    drawn: list[int] = []

    @settings(max_examples=5)
    @given(st.integers().map(lambda number: (random.random(), number)))
    def holds(told: tuple[float, int]) -> None:
        drawn.append(told[1])

    holds()
    assert drawn
