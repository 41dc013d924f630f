"""Secrets: only by reference (`${env:NAME}`, `${file:path}`), masked wherever they are shown, read once when
the file is loaded."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from typing_extensions import override

from quartermaster.errors import ConfigurationError

_REFERENCE = re.compile(r"\$\{(?P<kind>env|file):(?P<name>[^${}]+)\}")
_ANY = re.compile(r"\$\{[^}]*\}?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LITERAL_PASSWORD = re.compile(r"\bpassword\s*=\s*(?!\$\{)\S|//[^/@\s:]*:(?!\$\{)[^/@\s]+@", re.IGNORECASE)


@dataclass(frozen=True)
class Secret:
    """Text with references in it. `str` and `repr` show the references; `reveal()` gives the text, or says
    what is missing."""

    reference: str
    value: str | None = field(repr=False)
    missing: str = ""

    def reveal(self) -> str:
        """The secret itself. Raises ConfigurationError when what it refers to is not there."""
        if self.value is None:
            raise ConfigurationError(self.missing, "set it, or correct the reference in the configuration")
        return self.value

    @override
    def __str__(self) -> str:
        return self.reference


@dataclass(frozen=True)
class Surroundings:
    """What a reference or a relative path may reach: the environment, the configuration's folder, and a way
    to read a file."""

    environment: Mapping[str, str]
    folder: Path
    read: Callable[[Path], str]

    def path(self, text: str) -> Path:
        """The path, relative to the configuration's folder."""
        return (self.folder / text).absolute()


def whole(text: object, surroundings: Surroundings) -> Secret:
    """A secret that is nothing but one reference.

    Raises ValueError, which never quotes the text: it may be the secret itself.
    """
    if not isinstance(text, str) or not _REFERENCE.fullmatch(text):
        raise ValueError(
            "a secret does not stand in the configuration; refer to it by ${env:NAME} or ${file:path}"
        )
    return _resolve(text, surroundings, lambda value: value)


def for_header(text: object, surroundings: Surroundings) -> Secret:
    """A secret that is one reference and travels in an HTTP header: one with a line break or another control
    character, which would end the header and begin the next, counts as missing. Raises ValueError as `whole`."""
    found = whole(text, surroundings)
    if found.value is None or not _CONTROL.search(found.value):
        return found
    what = f"{found.reference} holds a line break or another control character"
    return Secret(found.reference, None, f"{what}, which no HTTP header can carry")


def within(text: str, surroundings: Surroundings) -> Secret:
    """An address whose secret parts are references: `postgres:host=db password=${env:PGPASSWORD}`.

    Raises ValueError for a password that is written out, and for a reference that is none.
    """
    if _LITERAL_PASSWORD.search(text):
        raise ValueError(
            "a password does not stand in the configuration; refer to it by ${env:NAME} or ${file:path}"
        )
    if any(not _REFERENCE.fullmatch(found) for found in _ANY.findall(text)):
        raise ValueError("a reference is ${env:NAME} or ${file:path}")
    return _resolve(text, surroundings, _uri_quoted if "://" in text else _libpq_quoted)


def _uri_quoted(value: str) -> str:
    return quote(value, safe="")


def _libpq_quoted(value: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_.:/+-]+", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _resolve(text: str, surroundings: Surroundings, quoted: Callable[[str], str]) -> Secret:
    missing: list[str] = []

    def follow(match: re.Match[str]) -> str:
        kind, name = match["kind"], match["name"]
        if kind == "env":
            found = surroundings.environment.get(name, "")
            if not found:
                missing.append(f"the environment variable {name} is not set")
            return quoted(found)
        path = surroundings.path(name)
        try:
            found = surroundings.read(path).rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            missing.append(f"the file {path} cannot be read: {reason}")
            return ""
        if not found:
            missing.append(f"the file {path} is empty")
        return quoted(found)

    value = _REFERENCE.sub(follow, text)
    return Secret(text, None, "; ".join(missing)) if missing else Secret(text, value)
