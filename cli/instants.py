"""Instants that somebody writes on the command line: the same words, and the same bounds, for every command."""

from quartermaster.config.units import instant_ms
from quartermaster.errors import InputError


def instant(text: str) -> int:
    """Epoch milliseconds of an instant with its offset, or of a date's midnight in UTC. Raises InputError."""
    try:
        return instant_ms(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no instant: {error}", "write it as 2026-11-24T12:00:00Z") from error
