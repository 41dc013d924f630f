"""The fields' types: what may stand in the file as text, and the value with its unit that it becomes."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
)

from quartermaster.config import secret, units
from quartermaster.config.secret import Secret, Surroundings

CATALOGS = "it is sqlite, memory, or postgres: with a connection string"


def _path(value: object, info: ValidationInfo) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a path is text, relative to the configuration's folder or absolute")
    return cast(Surroundings, info.context).path(units.plain_text(value))


def _whole_secret(value: object, info: ValidationInfo) -> Secret:
    return secret.whole(value, cast(Surroundings, info.context))


def _header_secret(value: object, info: ValidationInfo) -> Secret:
    return secret.for_header(value, cast(Surroundings, info.context))


def _address(value: object, info: ValidationInfo) -> Secret:
    if not isinstance(value, str) or not value:
        raise ValueError(CATALOGS)
    return secret.within(value, cast(Surroundings, info.context))


def _name(value: str) -> str:
    if not value.strip() or value != value.strip():
        raise ValueError("a name is not empty and has no spaces around it")
    return units.plain_text(value)


def as_written(default: object, alias: str | None = None) -> Any:  # noqa: ANN401
    """A field whose default goes through the same validation as if it stood in the file."""
    return Field(default=default, alias=alias)


Text = Annotated[str, AfterValidator(units.plain_text)]
Name = Annotated[str, AfterValidator(_name), Field(max_length=200)]
ClusterName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")]
Glob = Annotated[str, BeforeValidator(units.glob, json_schema_input_type=str)]
_Duration = Annotated[str, Field(pattern=r"^[0-9]{1,9}(ms|s|m|h|d)$")]
DurationMs = Annotated[int, BeforeValidator(units.duration_ms, json_schema_input_type=_Duration)]
InstantMs = Annotated[int, BeforeValidator(units.instant_ms, json_schema_input_type=str)]
GpuParts = Annotated[int, BeforeValidator(units.gpu_parts, json_schema_input_type=float | str)]
Price = Annotated[Decimal, BeforeValidator(units.price, json_schema_input_type=float | str)]
AnyPath = Annotated[Path, BeforeValidator(_path, json_schema_input_type=str)]
_AsReference = PlainSerializer(str, return_type=str)
WholeSecret = Annotated[Secret, BeforeValidator(_whole_secret, json_schema_input_type=str), _AsReference]
HeaderSecret = Annotated[Secret, BeforeValidator(_header_secret, json_schema_input_type=str), _AsReference]
Address = Annotated[Secret, BeforeValidator(_address, json_schema_input_type=str), _AsReference]
Currency = Annotated[str, BeforeValidator(units.currency, json_schema_input_type=str)]
TimeZone = Annotated[str, BeforeValidator(units.time_zone, json_schema_input_type=str)]


class Part(BaseModel):
    """A part of the configuration: nothing unknown, nothing converted on the quiet, nothing changed later."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )
