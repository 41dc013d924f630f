"""A problem of a configuration: where it stands, which key it is about, what is wrong, and the nearest right
name."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from typing_extensions import override

from quartermaster.errors import ConfigurationError
from quartermaster.text import visible

Key = tuple[str | int, ...]


class Place(NamedTuple):
    """A line and a column, both counted from one."""

    line: int
    column: int


@dataclass(frozen=True)
class Complaint:
    """What is wrong with a key, before its place is known; `other` is a second key that it has to do with."""

    key: Key
    what: str
    nearest: str = ""
    severity: Literal["error", "warning"] = "error"
    other: Key | None = None
    at_key: bool = False  # the key itself is wrong, not its value
    follows: bool = False  # it may be but the consequence of another complaint about the same part


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (an error) or looks wrong (a warning)."""

    file: str
    place: Place
    key: Key
    what: str
    nearest: str = ""
    severity: Literal["error", "warning"] = "error"

    @override
    def __str__(self) -> str:
        subject = f"{visible(dotted(self.key))}: " if self.key else ""
        guess = f" (did you mean {self.nearest}?)" if self.nearest else ""
        return (
            f"{self.file}:{self.place.line}:{self.place.column}: {self.severity}: {subject}{self.what}{guess}"
        )


class BrokenConfigurationError(ConfigurationError):
    """A configuration with errors; `problems` has all of them, in the file's order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.place))
        errors = [problem for problem in self.problems if problem.severity == "error"]
        count = "an error" if len(errors) == 1 else f"{len(errors)} errors"
        super().__init__(
            "\n".join([f"the configuration has {count}", *(f"  {problem}" for problem in errors)]),
            "correct the file; quartermaster config check shows what is left",
        )


def dotted(key: Key) -> str:
    """`clusters[0].dcgm.interval`."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that the given one was probably meant to be, or nothing."""
    folded = {candidate.casefold(): candidate for candidate in sorted(known, reverse=True)}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""
