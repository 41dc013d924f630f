"""Parameters of a question: declared in the header of its SQL, given as text, bound as values. Nothing is pasted.

-- param: team varchar, optional, the team; all without it
-- param: top integer, default 20, how many rows
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from quartermaster.config.problem import nearest
from quartermaster.errors import InputError

Value = str | int | bool | Decimal | date | datetime | None
_DECLARED = re.compile(
    r"-- param: (?P<name>[a-z][a-z_]*) (?P<type>[a-z]+), "
    r"(?:(?P<need>required|optional)|default (?P<default>[^,]+)), (?P<about>.+)"
)
_LONGEST = 10_000
_LARGEST = 2**63
_EXAMPLES = {
    "varchar": "text",
    "integer": "a whole number",
    "decimal": "a number such as 1.50",
    "date": "a day such as 2026-11-30",
    "timestamp": "an instant such as 2026-11-30T12:00:00Z",
    "boolean": "true or false",
}


@dataclass(frozen=True)
class Parameter:
    """A parameter: its type (varchar, integer, decimal, date, timestamp, boolean), and its value when not given."""

    name: str
    type: str
    required: bool
    default: str | None
    about: str


def declared(text: str) -> tuple[Parameter, ...]:
    """The parameters that a question's header declares, in order. Raises InputError for a line that is none."""
    found: list[Parameter] = []
    for line in text.splitlines():
        if not line.startswith("-- param:"):
            continue
        match = _DECLARED.fullmatch(line)
        if match is None or match["type"] not in _EXAMPLES:
            raise InputError(
                f"{line!r} declares no parameter",
                "write -- param: name type, required | optional | default value, what it is",
            )
        required = match["need"] == "required"
        found.append(Parameter(match["name"], match["type"], required, match["default"], match["about"]))
    return tuple(found)


def values(parameters: tuple[Parameter, ...], given: Mapping[str, str | None]) -> dict[str, Value]:
    """A value for each parameter: what is given, else its default, else null.

    Raises InputError for a name that is not declared, one that is missing, and text that is no value of its type.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            guess = nearest(name, known)
            takes = ", ".join(known) or "none"
            hint = f"did you mean {guess}?" if guess else f"the question takes {takes}"
            raise InputError(f"there is no parameter {name!r}", hint)
    found: dict[str, Value] = {}
    for name, parameter in known.items():
        text = given.get(name)
        if text is None:
            text = parameter.default
        if text is None and parameter.required:
            raise InputError(
                f"the parameter {name} is missing ({parameter.about})",
                f"give {name}={_EXAMPLES[parameter.type]}",
            )
        found[name] = None if text is None else value(parameter.type, text, name)
    return found


def value(kind: str, text: str, name: str) -> Value:
    """The text as a value of the type. Raises InputError that says what it should be."""
    if len(text) > _LONGEST:
        raise InputError(f"the parameter {name} is longer than {_LONGEST} characters", "ask for less at once")
    try:
        return _read(kind, text)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InputError(
            f"the parameter {name} takes {_EXAMPLES.get(kind, kind)}, not {text[:80]!r}",
            f"give {name}={_EXAMPLES.get(kind, kind)}",
        ) from error


def _read(kind: str, text: str) -> Value:
    if kind == "varchar":
        text.encode()  # a half of a character is no text
        return text
    if not text.isascii():
        raise ValueError(text)
    if kind == "integer":
        number = int(text)
        if not -_LARGEST <= number < _LARGEST:
            raise ValueError(text)
        return number
    if kind == "decimal":
        amount = Decimal(text)
        if not amount.is_finite() or abs(amount) >= 10**18 or amount != amount.quantize(Decimal("1e-9")):
            raise ValueError(text)
        return amount
    if kind == "date":
        return date.fromisoformat(text)
    if kind == "timestamp":
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if text not in {"true", "false"}:
        raise ValueError(text)
    return text == "true"
