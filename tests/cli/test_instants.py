"""Instants on the command line: whatever somebody writes is an instant, or wrong usage with a next step."""

import pytest

from cli import planned
from cli.backfill import _instant as from_or_to  # pyright: ignore[reportPrivateUsage]
from cli.instants import instant
from quartermaster.errors import InputError

NOW_MS = 1_796_000_000_000


def test_an_instant_and_a_day() -> None:
    assert instant("2026-11-24T12:00:00+01:00") == instant("2026-11-24T11:00:00Z") == 1_795_518_000_000
    assert instant("2026-11-24") == instant("2026-11-24T00:00:00Z")
    assert planned.instant is instant


@pytest.mark.parametrize(
    "text",
    [
        *("", "noon", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-10-25T02:30:00", "2026-02-30"),
        *("2026-11-24T12:00:00.0001Z", "\u202e2026-11-24", "2026-11-24\x00"),
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(InputError, match="is no instant") as raised:
        instant(text)
    assert raised.value.exit_code == 2
    assert raised.value.hint
    with pytest.raises(InputError):
        from_or_to("--from", text, NOW_MS)


def test_so_long_ago_that_there_is_no_such_instant() -> None:
    assert from_or_to("--from", "1d", NOW_MS) == NOW_MS - 86_400_000
    for text in ("999999999d", "20000d"):
        with pytest.raises(InputError, match="before the year 2000"):
            from_or_to("--from", text, NOW_MS)
