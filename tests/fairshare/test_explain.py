"""The words beside each share: every figure of a share stands in them, and they read as sentences."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.fairshare.division import divide
from quartermaster.fairshare.entitlement import Entitlement
from quartermaster.fairshare.explain import explain, gpus
from quartermaster.parts import GPU_PARTS
from tests.fairshare.drawn import departments, team, teams


def test_a_team_among_others() -> None:
    division = divide(
        20 * GPU_PARTS,
        [team("vision", 16, 8), team("nlp", 16, 4, weight=3, past=2), team("ops", 1, priority=-1)],
    )
    assert explain(division, "nlp") == [
        "20 GPUs are available, dealt in units of 1 GPU.",
        "nlp asks for 16 GPUs.",
        "Its guarantee is 4 GPUs; it asks for 4 GPUs of that and gets it.",
        "At priority 0 8 GPUs are left, and nlp and 1 other want 20 GPUs more: nlp gets 5 GPUs of them.",
        "The next unit goes to whoever is least above its guarantee for its weight: nlp stands at "
        "(2 GPUs of past borrowing + 5 GPUs) ÷ weight 3 = ≈2.333 GPUs; a unit more would be ≈2.667 GPUs, and others "
        "stand lower or come first.",
        "nlp: 9 GPUs.",
    ]
    assert explain(division, "ops")[-2:] == [
        "Nothing is left for priority -1; ops stays at 0 GPUs.",
        "ops: 0 GPUs.",
    ]


def test_a_cut_guarantee_within_a_department() -> None:
    x = Entitlement("research", limit_parts=4 * GPU_PARTS, members=(team("a", 9, 4), team("b", 9, 4)))
    assert explain(divide(20 * GPU_PARTS, [x]), "a") == [
        "20 GPUs are available, dealt in units of 1 GPU.",
        "research: its members want 4 GPUs (limit 4 GPUs).",
        "Its guarantee is 8 GPUs; it asks for 4 GPUs of that and gets it.",
        "research wants no more: 4 GPUs.",
        "research divides its 4 GPUs among its members.",
        "More is promised here than there can be: 8 GPUs of 4 GPUs.",
        "a asks for 9 GPUs.",
        "Its guarantee is 4 GPUs; it asks for 4 GPUs of that and gets 2 GPUs: 8 GPUs of guarantees are asked for and "
        "only 4 GPUs are there, so each gets the same part of its guarantee.",
        "Nothing is left for priority 0; a stays at 2 GPUs.",
        "a: 2 GPUs.",
    ]


@given(teams(GPU_PARTS, 9, 6) | departments(GPU_PARTS, 5), st.integers(0, 40))
def test_every_number_is_explained(entitled: list[Entitlement], available: int) -> None:
    division = divide(available * GPU_PARTS, entitled)
    for name in division.teams:
        share, lines = division.of(name), explain(division, name)
        words = "\n".join(lines)
        assert lines[-1] == f"{name}: {gpus(share.parts)}."
        for figure in (share.assured_parts, share.spare_parts, share.entitlement.request_parts):
            assert not figure or gpus(figure) in words


def test_a_hostile_name_stays_on_its_line() -> None:
    name = "a\n\x1b[2Jb"
    assert all(line.isprintable() for line in explain(divide(GPU_PARTS, [team(name, 1)]), name))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (0, "0 GPUs"),
        (GPU_PARTS, "1 GPU"),
        (GPU_PARTS * 5 // 2, "2.5 GPUs"),
        (GPU_PARTS // 7, "≈0.143 GPUs"),
        (-GPU_PARTS, "−1 GPU"),
        (12345 * GPU_PARTS, "12,345 GPUs"),
    ],
)
def test_parts_as_people_read_them(parts: int, words: str) -> None:
    assert gpus(parts) == words


def test_the_pages_example_is_what_comes_out() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fairshare.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    scope: dict[str, Any] = {}
    exec(code, scope)  # noqa: S102
    shown = [line.strip() for line in page.split("```\n")[1].split("##")[0].strip().splitlines()]
    assert shown == explain(scope["division"], "nlp")
    assert {team: parts // GPU_PARTS for team, parts in scope["division"].teams.items()} == {
        "nlp": 10,
        "vision": 10,
    }
