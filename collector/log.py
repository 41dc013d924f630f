"""The collector's log: one line an event, plain or JSON; hostile text is escaped."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TextIO

from quartermaster.clock import now_ms, to_iso

Value = str | int | float | bool
_BARE = re.compile(r"[A-Za-z0-9_.:/%+@-]+")
_LONGEST = 500


@dataclass(frozen=True)
class Log:
    """Writes events to a stream (stderr), each with its fields. Secrets are never among the fields: callers
    pass none."""

    form: Literal["plain", "json"] = "plain"
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], int] = now_ms

    def info(self, event: str, **fields: Value) -> None:
        """Something that is as it should be."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Value) -> None:
        """Something that needs a look, while the collector goes on."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Value) -> None:
        """Something that costs data, or would."""
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Value]) -> None:
        self.stream.write(line(self.form, self.clock(), level, event, fields) + "\n")
        self.stream.flush()


def line(form: Literal["plain", "json"], at_ms: int, level: str, event: str, fields: dict[str, Value]) -> str:
    """One event as one line of ASCII."""
    if form == "json":
        shortened = {name: _short(value) for name, value in fields.items()}
        return json.dumps({"at": to_iso(at_ms), "level": level, "event": event, **shortened})
    told = " ".join(f"{name}={_plain(value)}" for name, value in fields.items())
    return f"{to_iso(at_ms)} {level:7} {event}{' ' if told else ''}{told}"


def _short(value: Value) -> Value:
    return value if not isinstance(value, str) or len(value) <= _LONGEST else value[:_LONGEST] + "…"


def _plain(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(_short(value))
    return text if _BARE.fullmatch(text) else json.dumps(text)
