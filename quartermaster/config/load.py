"""Loading a configuration: text in, a configuration or every problem at once out."""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from quartermaster.config.complaint import complaints as every_complaint
from quartermaster.config.model import Configuration
from quartermaster.config.problem import BrokenConfigurationError, Complaint, Key, Place, Problem
from quartermaster.config.remnant import Remnant
from quartermaster.config.secret import Surroundings
from quartermaster.config.sense import doubts, unresolved
from quartermaster.config.source import Source, read_yaml
from quartermaster.errors import ConfigurationError

_FILE_AT_MOST, _SECRET_AT_MOST = 4 * 2**20, 2**16


@dataclass(frozen=True)
class Loaded:
    """What came of a file: its configuration (None where an error stands in the way), its problems, and where
    everything stands."""

    configuration: Configuration | None
    problems: tuple[Problem, ...]
    source: Source

    def need(self) -> Configuration:
        """The configuration. Raises BrokenConfigurationError with every error."""
        if self.configuration is None:
            raise BrokenConfigurationError(self.problems)
        return self.configuration


def load_configuration(path: Path, environment: Mapping[str, str]) -> Configuration:
    """The configuration in a file.

    A secret whose reference leads nowhere is an error only where it is used (`Secret.reveal`): a report
    needs no exporter's token. `check_configuration` and the collector's keeper say it at once. Raises
    ConfigurationError.
    """
    return check_configuration(path, environment, secrets=False).need()


def check_configuration(path: Path, environment: Mapping[str, str], *, secrets: bool = True) -> Loaded:
    """The configuration in a file and all that is wrong with it; with `secrets`, each reference must lead
    somewhere.

    Raises ConfigurationError only where the file itself cannot be read.
    """
    try:
        text = _bounded(path, _FILE_AT_MOST).decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(
            f"{path}: the configuration cannot be read: {error.strerror}", "name another with --config"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path}: the configuration is not UTF-8 text (byte {error.start})", "save it as UTF-8"
        ) from error
    return parse_configuration(
        text, str(path), Surroundings(environment, path.absolute().parent, _read), secrets=secrets
    )


def parse_configuration(text: str, file: str, surroundings: Surroundings, *, secrets: bool = True) -> Loaded:
    """The same of a text; `file` is the name that problems carry. Never raises."""
    source = read_yaml(text, file)
    if source.value is None:
        empty = Problem(file, Place(1, 1), (), "the file is empty; it needs clusters at least")
        return Loaded(None, source.problems or (empty,), source)
    configuration, remnant, complaints = _validate(source.value, surroundings)
    problems = {*source.problems, *(source.problem(complaint, lambda key: key) for complaint in complaints)}
    if configuration is not None:
        doubtful = (*doubts(configuration), *(unresolved(configuration) if secrets else ()))
        found = {source.problem(doubt, remnant.in_file) for doubt in doubtful}
        # what only looks wrong may look so because of what was taken out
        problems |= {
            one
            for one in found
            if one.severity == "error" or not any(_under(two.key, one.key) for two in complaints)
        }
    ordered = tuple(sorted(problems, key=lambda problem: (problem.place, str(problem))))
    broken = any(problem.severity == "error" for problem in ordered)
    return Loaded(None if broken else configuration, ordered, source)


def _validate(
    value: object, surroundings: Surroundings
) -> tuple[Configuration | None, Remnant, tuple[Complaint, ...]]:
    """The configuration, or that of what remains when all that is wrong is taken out; and what is wrong."""
    remnant, found = Remnant(value), list[Complaint]()
    while True:
        try:
            configuration = Configuration.model_validate(remnant.value, context=surroundings)
        except ValidationError as error:
            wrong = every_complaint(error)
        else:
            return configuration, remnant, tuple(found)
        # a list whose every item is wrong is not also too short
        wrong = [
            one
            for one in wrong
            if not (one.follows and any(_under(two.key, one.key) for two in wrong if two is not one))
        ]
        told = [replace(complaint, key=remnant.in_file(complaint.key)) for complaint in wrong]
        found += [one for one in told if not (one.follows and any(_under(two.key, one.key) for two in found))]
        gone = {remnant.nearest_present(complaint.key) for complaint in wrong}
        if () in gone:
            return None, remnant, tuple(found)
        remnant = remnant.without(gone)


def _under(key: Key, above: Key) -> bool:
    return key[: len(above)] == above


def _read(path: Path) -> str:
    return _bounded(path, _SECRET_AT_MOST).decode("utf-8")


def _bounded(path: Path, at_most: int) -> bytes:
    """The file's bytes; one that is larger, or never ends, is refused as the system would refuse it."""
    with path.open("rb") as file:
        content = file.read(at_most + 1)
    if len(content) > at_most:
        raise OSError(errno.EFBIG, f"{os.strerror(errno.EFBIG)} (at most {at_most // 1024} KiB)")
    return content
