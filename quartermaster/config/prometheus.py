"""The Prometheus' part of a cluster's configuration: where its history is, and how to be let in."""

import re
from typing import Annotated, cast

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, model_validator

from quartermaster.config import secret, units
from quartermaster.config.fields import DurationMs, HeaderSecret, Name, Part, Text, as_written
from quartermaster.config.secret import Secret, Surroundings
from quartermaster.config.web import BasicAuthPart, TlsPart

_SECRET_HEADERS = re.compile(r"auth|cookie|token|key|secret|password", re.IGNORECASE)


def _header_text(value: object, info: ValidationInfo) -> Secret:
    if isinstance(value, str) and "${" not in value:
        return Secret(value, units.plain_text(value))
    return secret.for_header(value, cast(Surroundings, info.context))


HeaderText = Annotated[
    Secret,
    BeforeValidator(_header_text, json_schema_input_type=str),
    PlainSerializer(str, return_type=str),
]


class HeaderPart(Part):
    """A header for every request."""

    name: Name = Field(pattern=r"^[A-Za-z0-9-]+$")
    """Its name, such as X-Scope-OrgID."""
    value: HeaderText
    """Its value: text, or a reference; a secret is always a reference."""

    @model_validator(mode="after")
    def _secrets_by_reference(self) -> "HeaderPart":
        if _SECRET_HEADERS.search(self.name) and not str(self.value).startswith("${"):
            raise ValueError(
                "value: a secret does not stand in the configuration; refer to it by ${env:NAME}"
            )
        return self


class LabelPart(Part):
    """A label that series have."""

    name: Name = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The label's name."""
    value: Text
    """Its value."""


class PrometheusPart(Part):
    """A Prometheus, or what answers like one (Thanos, Mimir, VictoriaMetrics), with the cluster's history."""

    url: Text
    """Its address, before /api/v1: http://prometheus:9090, without name and password."""
    match: tuple[LabelPart, ...] = ()
    """Labels by which this cluster's series are told from others', where one server has several clusters."""
    node_label: str = Field(default="", pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")
    """The label with the node's name, where the exporter's own `Hostname` does not say it rightly."""
    timeout_ms: DurationMs = as_written("1m", alias="timeout")
    """How long it may be silent while it answers."""
    headers: tuple[HeaderPart, ...] = ()
    """Headers for every request, such as a tenant's."""
    basic_auth: BasicAuthPart | None = None
    """A name and a password."""
    bearer_token: HeaderSecret | None = None
    """A token, by reference; not together with `basic_auth`."""
    tls: TlsPart = as_written({})
    """Certificates."""

    @model_validator(mode="after")
    def _askable(self) -> "PrometheusPart":
        if not units.is_web_address(self.url):
            raise ValueError("url: it looks like http://prometheus:9090")
        if "@" in self.url.split("/", 3)[2]:
            raise ValueError("url: a name and a password belong into basic_auth, by reference")
        if self.basic_auth is not None and self.bearer_token is not None:
            raise ValueError("bearer_token: basic_auth and bearer_token exclude each other")
        return self
