"""What pydantic found, in the words of somebody who edits the file: the place, the key, what is expected, the
nearest right name."""

from collections.abc import Iterator
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from quartermaster.config.model import Configuration
from quartermaster.config.problem import Complaint, Key, nearest

_EXPECTED = {
    "string_type": "text is expected; write it in quotes",
    "bool_type": "true or false is expected",
    "int_type": "a whole number is expected",
    "tuple_type": "a list is expected: [one, two]",
    "model_type": "keys and values are expected here",
    "mapping_type": "keys and values are expected here",
    "missing": "is missing",
    "too_short": "at least one is needed",
    "string_too_long": "that is too long",
    "too_long": "that is too long",
    "string_unicode": "there is half a character (a surrogate) in the text",
}
_SHAPES = {
    "name": "a cluster's name has letters, digits, dots, dashes and underscores, at most 63",
    "listen": "an address and a port are expected: 127.0.0.1:9500",
    "namespace": "a namespace has small letters, digits and dashes, at most 63",
}


def complaints(error: ValidationError) -> tuple[Complaint, ...]:
    """Every error of a validation. No value is quoted that may be a secret."""
    return tuple(_complaint(detail) for detail in error.errors(include_url=False))


def keys_of(model: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """The keys that a part of the file may have, each with the part that stands under it, if one does."""
    return {field.alias or name: part_of(field.annotation) for name, field in model.model_fields.items()}


def every_key(model: type[BaseModel] = Configuration, above: str = "") -> Iterator[tuple[str, str]]:
    """All keys of the file, each with where it stands (`clusters.dcgm`)."""
    for key, part in keys_of(model).items():
        yield key, above
        if part is not None:
            yield from every_key(part, f"{above}.{key}".removeprefix("."))


def _complaint(detail: ErrorDetails) -> Complaint:
    key: Key = detail["loc"]
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown_key(key)
    what, guess = detail["msg"], ""
    if kind in _EXPECTED:
        what = _EXPECTED[kind]
    elif kind == "value_error":
        what = str(cast(dict[str, Any], detail).get("ctx", {}).get("error", what))
        name, separator, rest = what.partition(": ")
        if separator and name.isidentifier():
            key, what = (*key, name), rest
    elif kind == "literal_error":
        known = _choices(detail)
        what, guess = f"it is one of {', '.join(known)}", nearest(str(detail["input"]), known)
    elif kind in {"greater_than_equal", "less_than_equal"}:
        what = _bounds(detail)
    elif kind == "string_pattern_mismatch":
        what = _SHAPES[str(key[-1])]
    if detail["input"] is None and kind not in {"missing", "value_error"}:
        what = f"nothing stands behind the key; {what}"
    return Complaint(key, what, guess, follows=kind in {"missing", "too_short"})


def _unknown_key(key: Key) -> Complaint:
    part = _part_at(key[:-1])
    name = str(key[-1])
    guess = nearest(name, keys_of(part)) if part is not None else ""
    what = "this key is not known"
    elsewhere = sorted({above for known, above in every_key() if known == name})
    if not guess and elsewhere:
        what = "this key does not stand here, but " + " or ".join(map(_under, elsewhere))
    return Complaint(key, what, guess, at_key=True)


def _under(above: str) -> str:
    return f"under {above}" if above else "at the top"


def _part_at(key: Key) -> type[BaseModel] | None:
    part: type[BaseModel] | None = Configuration
    for step in key:
        if isinstance(step, str) and part is not None:
            part = keys_of(part).get(step)
    return part


def part_of(annotation: object) -> type[BaseModel] | None:
    """The model within an annotation such as `tuple[Annotated[TargetPart, …], …]` or `TlsPart | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((part for part in map(part_of, get_args(annotation)) if part is not None), None)


def _choices(detail: ErrorDetails) -> list[str]:
    expected = str(cast(dict[str, Any], detail).get("ctx", {}).get("expected", ""))
    return [choice.strip("' ") for choice in expected.replace(" or ", ", ").split(", ")]


def _bounds(detail: ErrorDetails) -> str:
    context = cast(dict[str, Any], detail).get("ctx", {})
    return f"it is at least {context['ge']}" if "ge" in context else f"it is at most {context['le']}"
