"""Showing a configuration: every key with its value as written, and where it comes from; secrets stay
references."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel

from quartermaster.config.complaint import part_of
from quartermaster.config.load import Loaded
from quartermaster.config.model import Configuration
from quartermaster.config.problem import Key, dotted
from quartermaster.config.sense import secrets


@dataclass(frozen=True)
class Setting:
    """A key, its value as a file would write it, and whether a line of the file says so or it is the
    default."""

    key: str
    value: str
    where: str


def settings(loaded: Loaded) -> list[Setting]:
    """Every setting of a configuration that is in order, in the documentation's order.

    Raises ConfigurationError when it is not in order.
    """
    missing = {dotted(key) for key, secret in secrets(loaded.need()) if secret.value is None}
    return [
        Setting(setting.key, f"{setting.value} (missing)", setting.where)
        if setting.key in missing
        else setting
        for setting in _settings(Configuration, loaded.source.value, (), loaded)
    ]


def schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors."""
    described = Configuration.model_json_schema(by_alias=True, mode="validation")
    described |= {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "quartermaster.yaml"}
    return described


def _settings(part: type[BaseModel], given: object, key: Key, loaded: Loaded) -> Iterator[Setting]:
    if isinstance(given, str):  # a target that is but its address
        yield Setting(dotted(key), given, _where(key, loaded))
        return
    values = cast(Mapping[str, object], given or {})
    for name, field in part.model_fields.items():
        word = field.alias or name
        here = (*key, word)
        inner = part_of(field.annotation)
        value = values.get(word, field.default)
        if inner is None or value is None or value == ():
            yield Setting(dotted(here), _written(value), _where(here, loaded))
        elif isinstance(value, tuple):
            for index, item in enumerate(cast(tuple[object, ...], value)):
                yield from _settings(inner, item, (*here, index), loaded)
        else:
            yield from _settings(inner, value, here, loaded)


def _where(key: Key, loaded: Loaded) -> str:
    found = loaded.source.values.get(key)
    return f"line {found.line}" if found else "default"


def _written(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_written, cast(tuple[object, ...], value))) + "]"
    if isinstance(value, Mapping):
        entries = cast(Mapping[str, object], value).items()
        return "{" + ", ".join(f"{name}: {_written(entry)}" for name, entry in entries) + "}"
    return str(value)
