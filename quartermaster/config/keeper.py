"""Keeping a configuration while its file changes: a broken new one never replaces the one that works."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from quartermaster.config.load import check_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.problem import BrokenConfigurationError
from quartermaster.errors import ConfigurationError


@dataclass(frozen=True)
class Reload:
    """What came of reading the file again: is it in force, does anything in it differ, and what to say."""

    accepted: bool
    changed: bool
    said: str


class Keeper:
    """Holds the configuration in force (`current`). `reload` takes a new one only if it is whole, secrets
    included.

    `broken` is why the file as it is now is not in force, or empty; `failures` counts the reloads that
    were refused. Both are there for a metric and a log line.
    """

    def __init__(self, load: Callable[[], Configuration]) -> None:
        """Load for the first time. Raises ConfigurationError: there is nothing older to keep."""
        self._load = load
        self.current = load()
        self.broken = ""
        self.failures = 0

    def reload(self) -> Reload:
        """Read the file again; what is broken leaves `current` as it was, and never raises."""
        try:
            new = self._load()
        except ConfigurationError as error:
            self.broken = error.what
            self.failures += 1
            return Reload(False, False, f"the old configuration stays in force: {error.what}")
        changed, self.broken = new != self.current, ""
        self.current = new if changed else self.current
        return Reload(
            True,
            changed,
            "the new configuration is in force" if changed else "the configuration is unchanged",
        )


def keep(path: Path, environment: Mapping[str, str]) -> Keeper:
    """A keeper of the configuration in a file, whose every secret must be there.

    Raises ConfigurationError when the file is broken now.
    """

    def load() -> Configuration:
        loaded = check_configuration(path, environment)
        if loaded.configuration is None:
            raise BrokenConfigurationError(loaded.problems)
        return loaded.configuration

    return Keeper(load)
