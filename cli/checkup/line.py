"""A line of the doctor's: what was looked at, how it is, and what to do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from quartermaster.errors import QuartermasterError


class State(StrEnum):
    """How something is. Trouble: a part cannot do its work. A warning: it can, and something is lost or will be."""

    ok = "ok"
    warning = "warning"
    trouble = "trouble"


@dataclass(frozen=True)
class Line:
    """One thing that was looked at; `todo` is the next step where it is not in order."""

    subject: str
    state: State
    words: str
    todo: str = ""


def ok(subject: str, words: str) -> Line:
    """It is in order."""
    return Line(subject, State.ok, words)


def warning(subject: str, words: str, todo: str) -> Line:
    """It works, and something is lost or will be."""
    return Line(subject, State.warning, words, todo)


def trouble(subject: str, words: str, todo: str) -> Line:
    """A part cannot do its work."""
    return Line(subject, State.trouble, words, todo)


def looked(subject: str, look: Callable[[], Iterable[Line]]) -> Iterator[Line]:
    """The lines of a look; an error of ours that ends it is its last line."""
    try:
        yield from look()
    except QuartermasterError as error:
        yield trouble(subject, error.what, error.hint)


def clock_line(subject: str, server: str, bounds_ms: tuple[int, int] | None, apart_ms: int) -> Iterator[Line]:
    """What the least and the most that a server's clock is ahead of ours say. Nothing where nothing is known."""
    if bounds_ms is None:
        return
    least, most = bounds_ms
    if least <= apart_ms and most >= -apart_ms:
        yield ok(subject, f"{server}: its clock and this machine's are one, to {apart_ms / 1000:g} s")
        return
    middle_s = (least + most) / 2000
    ahead = f"{abs(middle_s):.1f} s {'ahead of' if middle_s > 0 else 'behind'}"
    yield warning(
        subject,
        f"{server}: its clock is {ahead} this machine's",
        "set both by NTP: intervals and telemetry that lie apart do not meet",
    )
