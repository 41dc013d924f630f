"""Loading a configuration: text in, a configuration or every problem at once out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from quartermaster.config.complaint import complaints
from quartermaster.config.model import Configuration
from quartermaster.config.problem import BrokenConfigurationError, Place, Problem
from quartermaster.config.secret import Surroundings
from quartermaster.config.sense import doubts, unresolved
from quartermaster.config.source import Source, read_yaml
from quartermaster.errors import ConfigurationError


@dataclass(frozen=True)
class Loaded:
    """What came of a file: its configuration (None where an error stands in the way), its problems, and where everything stands."""

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

    A secret whose reference leads nowhere is an error only where it is used (`Secret.reveal`), so that a report needs no
    exporter's token; `check_configuration` and the collector's keeper say it at once. Raises ConfigurationError.
    """
    return check_configuration(path, environment, secrets=False).need()


def check_configuration(path: Path, environment: Mapping[str, str], *, secrets: bool = True) -> Loaded:
    """The configuration in a file and all that is wrong with it; with `secrets`, each reference must lead somewhere.

    Raises ConfigurationError only where the file itself cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
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
    if source.problems and source.value is None:
        return Loaded(None, source.problems, source)
    configuration, problems = _validate(source, surroundings)
    problems = (*source.problems, *problems)
    if configuration is not None:
        problems += doubts(configuration, source)
        problems += unresolved(configuration, source) if secrets else ()
    ordered = tuple(sorted(problems, key=lambda problem: problem.place))
    broken = any(problem.severity == "error" for problem in ordered)
    return Loaded(None if broken else configuration, ordered, source)


def _validate(source: Source, surroundings: Surroundings) -> tuple[Configuration | None, tuple[Problem, ...]]:
    if source.value is None:
        return None, (Problem(source.file, Place(1, 1), (), "the file is empty; it needs clusters at least"),)
    try:
        return Configuration.model_validate(source.value, context=surroundings), ()
    except ValidationError as error:
        return None, complaints(error, source)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
