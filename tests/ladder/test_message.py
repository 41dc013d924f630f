"""The message: what, why, what comes, what is lost, how to keep it; whatever the names are."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.ladder.message import message
from enforcer.ladder.rung import AGAIN, WARN, Rung
from tests.enforcer.clusters import NOW, UTC
from tests.enforcer.scenes import job
from tests.ladder.idlers import BERLIN, POLICY, idle, rung, workload

WHOLE = """\
Notebook lab/drafts of team vision in pool whole of cluster main holds 2 GPUs and computes nothing.

Why this is said: it is idle for 2 h, since 2026-11-30 00:00 (Europe/Berlin). Each of its 2 devices is known for at \
least 98 % of that time, and idle by gr_engine and power.

What comes: while it stays idle, it is warned of once more, then stopped: at the earliest 2026-11-30 18:00 \
(Europe/Berlin), not in business hours. Others are given its GPUs.

What is lost then: 20.0 GPU-hours of work since its start; lost for good: what its processes have in memory. What was \
there is recorded first, and quartermaster restore starts it again.

How to keep it: let it compute, and all this begins anew. Or ask for time, until 2026-12-03 08:00 (Europe/Berlin) at \
most, by this command,

    quartermaster keep 4h Notebook/lab/drafts --cluster main

or by the annotation quartermaster/keep-until on it, with an instant such as 2026-11-30T05:00:00Z.

If nobody needs it any more, please end it: others wait for GPUs."""


def test_the_whole_of_a_first_warning() -> None:
    there = rung(lost_for_good=("what its processes have in memory",))
    told = message(there, POLICY, BERLIN, NOW)
    assert told.title == "Quartermaster, first warning: Notebook lab/drafts is idle for 2 h"
    assert told.body == WHOLE
    assert told.brief == (
        "Quartermaster, first warning: Notebook lab/drafts is idle for 2 h. While it stays idle, it is warned of once "
        "more, then stopped: at the earliest 2026-11-30 18:00 (Europe/Berlin), not in business hours. Or ask for time, "
        "until 2026-12-03 08:00 (Europe/Berlin) at most, by this command, quartermaster keep 4h Notebook/lab/drafts "
        "--cluster main or by the annotation quartermaster/keep-until on it, with an instant such as "
        "2026-11-30T05:00:00Z."
    )


def test_a_second_warning_says_that_it_is_stopped_next() -> None:
    told = message(rung(26.5, AGAIN, (WARN, 24)), POLICY, UTC, NOW)
    assert told.title == "Quartermaster, second warning: Notebook lab/drafts is idle for 1 d 2 h 30 min"
    assert "it is stopped: at the earliest 2026-11-30 05:00 (UTC), not in business hours." in told.body


def test_a_batch_job_of_one_device_is_taken_in_business_hours_too() -> None:
    there = Rung("main", WARN, job("w", "b", "n1", ran=600), idle(1))
    told = message(there, POLICY, UTC, NOW).body
    assert "Its one device is known" in told
    assert "at the earliest 2026-11-30 02:00 (UTC). Others" in told


@pytest.mark.parametrize(
    ("there", "command"),
    [
        (rung(), "keep 4h Notebook/lab/drafts --cluster main"),
        (rung(name="drafts.v2"), "keep 4h w --cluster main"),
        (rung(name="$(rm -rf ~)"), "keep 4h w --cluster main"),
        (rung(namespace="-lab;", name="a"), "keep 4h w --cluster main"),
        (rung(79, AGAIN, (WARN, 76.5)), "keep 90m Notebook/lab/drafts --cluster main"),
        (rung(80, AGAIN, (WARN, 77)), "keep 1h Notebook/lab/drafts --cluster main"),
    ],
)
def test_the_command_is_fit_to_be_pasted_into_a_shell(there: Rung, command: str) -> None:
    """The last two were warned after 2.5 and 3 h: kept until 72 h after they would have been taken, and no longer."""
    assert f"\n    quartermaster {command}\n" in message(there, POLICY, UTC, NOW).body


def test_without_a_name_or_a_uid_that_is_fit_there_is_the_annotation_alone() -> None:
    there = rung(name="a b")
    told = message(replace(there, workload=replace(there.workload, uid="a'b")), POLICY, UTC, NOW).body
    assert "quartermaster keep" not in told
    assert "at most, by the annotation quartermaster/keep-until" in told
    assert "quartermaster keep" not in message(replace(there, cluster="`id`"), POLICY, UTC, NOW).body


def test_what_was_kept_for_as_long_as_may_be_says_so() -> None:
    told = message(rung(200, AGAIN, (WARN, 190)), POLICY, UTC, NOW)
    assert "begins anew. It has been kept for as long as the policy allows." in told.body
    assert "keep-until" not in told.body + told.brief


def test_of_what_is_reported_only_there_is_none() -> None:
    with pytest.raises(ValueError, match="reported only"):
        message(rung(serving=True), POLICY, UTC, NOW)


HOSTILE = st.text(max_size=300) | st.sampled_from(
    [
        "@channel",
        "<!here>",
        "https://evil.example/?a=b",
        "[x](http://a.b)",
        "\u202etxt.exe",
        "a\r\nBcc: b@c.d",
        "*" * 300,
    ]
)


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.sampled_from([WARN, AGAIN]))
def test_no_name_means_anything_in_it_and_it_is_bounded(
    kind: str, namespace: str, name: str, team: str, stage: str
) -> None:
    more: dict[str, Any] = {"kind": kind, "namespace": namespace, "name": name, "team": team}
    there = replace(rung(stage=stage), workload=replace(workload(), **more), cluster=team)
    told = message(there, POLICY, BERLIN, NOW)
    whole = told.title + told.body + told.brief
    assert not set(whole) & set('@<>*`~[]{}!#$&|\\"')
    assert all(sign.isprintable() or sign == "\n" for sign in whole)
    assert "\n" not in told.title + told.brief
    for text in (told.title, told.body, told.brief):
        assert not re.search(r"\w\.[^\W\d]", text)  # nothing that looks like a domain
    assert (len(told.title) <= 260, len(told.body) <= 2_500, len(told.brief.encode()) <= 1_000) == (True,) * 3
