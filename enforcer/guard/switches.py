"""Switches: three ways to stop everything, each seen before every single act. What cannot be looked at counts as on."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from collector.kubernetes.talk import ABSENT, Api, Trouble
from collector.kubernetes.values import Json, instant_ms, mapping, text
from quartermaster.clock import to_iso
from quartermaster.config.model import Configuration
from quartermaster.text import visible

CONFIGMAP = "quartermaster-freeze"
_LONGEST_WHY = 200


class Switch(StrEnum):
    """Which of them."""

    FILE = "the file"
    CONFIGMAP = "the ConfigMap"
    COMMAND = "quartermaster freeze"


@dataclass(frozen=True, slots=True)
class Freeze:
    """That everything is frozen: by which switch, since when and by whom, as far as that can be told, and why."""

    switch: Switch
    since_ms: int | None
    by: str
    why: str

    @property
    def words(self) -> str:
        """The same for people."""
        since = "" if self.since_ms is None else f" since {to_iso(self.since_ms)}"
        by = f" by {self.by}" if self.by else ""
        return visible(f"frozen{since}{by}: {self.switch} {self.why}")


@dataclass(frozen=True, slots=True)
class Command:
    """One `quartermaster freeze`, or `thaw`, as it is recorded; `by` is a pseudonym."""

    asked_at_ms: int
    thaws: bool
    by: str
    why: str


def commanded(commands: Sequence[Command] | None) -> Freeze | None:
    """Whether the last command freezes; of two at the same instant the freeze. None for `commands`: unreadable."""
    if commands is None:
        return Freeze(Switch.COMMAND, None, "", "cannot be asked for, as the ledger does not answer")
    last = max(commands, key=lambda each: (each.asked_at_ms, not each.thaws), default=None)
    if last is None or last.thaws:
        return None
    return Freeze(Switch.COMMAND, last.asked_at_ms, last.by, f"was told{_why(last.why)}")


def freeze_file(configuration: Configuration) -> Path:
    """The file that stops everything: the one that is named, or `freeze` beside the ledger's folder."""
    return configuration.policy.acting.freeze_file or configuration.ledger.path.parent / "freeze"


def look_at_file(path: Path) -> Freeze | None:
    """Whether the file is there. Where it cannot be looked at, or its folder is not there, it counts as there."""
    try:
        since_ms = path.lstat().st_mtime_ns // 1_000_000
    except FileNotFoundError:
        if path.parent.is_dir():
            return None
        return Freeze(Switch.FILE, None, "", f"{path} cannot be looked for: its folder is not there")
    except OSError as error:
        return Freeze(Switch.FILE, None, "", f"{path} cannot be looked at: {error.strerror}")
    return Freeze(Switch.FILE, since_ms, "", f"{path} is there{_why(_first_line(path))}")


def look_at_configmap(api: Api, namespace: str) -> Freeze | None:
    """Whether the ConfigMap is there. Where the API server does not say no, it counts as there."""
    try:
        return of_configmap(namespace, api.get(f"/api/v1/namespaces/{namespace}/configmaps/{CONFIGMAP}"))
    except Trouble as trouble:
        return of_trouble(namespace, trouble)


def of_trouble(namespace: str, trouble: Trouble) -> Freeze | None:
    """What another answer means than the ConfigMap: that it is not there, or that nobody can tell."""
    if trouble.kind == ABSENT:
        return None
    words = f"{namespace}/{CONFIGMAP} cannot be looked at: {trouble.detail[:_LONGEST_WHY]}"
    return Freeze(Switch.CONFIGMAP, None, "", words)


def of_configmap(namespace: str, found: Json) -> Freeze:
    """The freeze that a ConfigMap is, whatever is in it; `data.why` says why."""
    created_ms = instant_ms(mapping(found.get("metadata")).get("creationTimestamp"))
    why = _why(text(mapping(found.get("data")).get("why"), _LONGEST_WHY))
    return Freeze(Switch.CONFIGMAP, created_ms, "", f"{namespace}/{CONFIGMAP} is there{why}")


def _first_line(path: Path) -> str:
    """What the first line says, if it can be read without waiting: a pipe would wait for who writes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            content = os.read(descriptor, _LONGEST_WHY)
        finally:
            os.close(descriptor)
    except OSError:
        return ""
    return content.decode("utf-8", "replace").partition("\n")[0].strip()


def _why(told: str) -> str:
    return f": {told[:_LONGEST_WHY]}" if told else ""
