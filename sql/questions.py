"""Questions with a name: SELECTs that many ask; the first line of each says what it answers."""

from dataclasses import dataclass
from pathlib import Path

from quartermaster.config.problem import nearest
from quartermaster.errors import InputError

_FOLDER = Path(__file__).parent / "queries" / "ask"


@dataclass(frozen=True)
class Question:
    """A SELECT, its name, and what it answers."""

    name: str
    about: str
    query: str


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
    return Question(path.stem, text.splitlines()[0].removeprefix("--").strip(), text)
