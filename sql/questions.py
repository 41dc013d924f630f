"""Questions with a name: SELECTs that many ask; the head of each says what it answers, and what it takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quartermaster.config.problem import nearest
from quartermaster.errors import InputError
from sql.parameters import Parameter, declared, values

_FOLDER = Path(__file__).parent / "queries" / "ask"


@dataclass(frozen=True)
class Question:
    """A SELECT, its name, what it answers, and the parameters that it takes."""

    name: str
    about: str
    query: str
    parameters: tuple[Parameter, ...]

    def bound(self, given: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
        """Each parameter's type and its value as text, as `sql.door.ask` takes them.

        Raises InputError for a name that it has not, one that is missing, and text that is no value of its type.
        """
        values(self.parameters, given)
        return {each.name: (each.type, given.get(each.name, each.default)) for each in self.parameters}


def questions() -> list[Question]:
    """Every named question, by name."""
    return [_read(path) for path in sorted(_FOLDER.glob("*.sql"))]


def question(name: str) -> Question:
    """The question of that name. Raises InputError with the nearest name."""
    known = {entry.name: entry for entry in questions()}
    if name not in known:
        guess = nearest(name, known)
        hint = f"did you mean {guess}?" if guess else "quartermaster sql --list names them"
        raise InputError(f"there is no question {name!r}", hint)
    return known[name]


def _read(path: Path) -> Question:
    text = path.read_text(encoding="utf-8")
    return Question(path.stem, text.splitlines()[0].removeprefix("--").strip(), text, declared(text))


def loose(given: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
    """Parameters of a question that has no name: text, which the query casts where it is to be something else."""
    return {name: ("varchar", text) for name, text in given.items()}
