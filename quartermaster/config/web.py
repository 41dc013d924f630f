"""What is needed to be let in by a server: certificates, a name and a password."""

from pydantic import field_validator, model_validator

from quartermaster.config.fields import AnyPath, HeaderSecret, Name, Part


class TlsPart(Part):
    """How a server's certificate is checked, and which one is shown to it."""

    ca_file: AnyPath | None = None
    """The certificate authority to trust, as a PEM file; without it, the system's."""
    cert_file: AnyPath | None = None
    """The client's certificate, as a PEM file; together with `key_file`."""
    key_file: AnyPath | None = None
    """The client certificate's key, as a PEM file."""
    insecure_skip_verify: bool = False
    """Whether any certificate is taken. Off, because a page from a stranger becomes a bill."""

    @model_validator(mode="after")
    def _both_or_none(self) -> "TlsPart":
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file stand together or not at all")
        return self


class BasicAuthPart(Part):
    """A name and a password for a server."""

    username: Name
    """The user's name."""
    password: HeaderSecret
    """The password, by reference."""

    @field_validator("username")
    @classmethod
    def _without_colon(cls, value: str) -> str:
        if ":" in value:
            raise ValueError("a name with a colon cannot be told from its password")
        return value
