"""JupyterHubs of a cluster: the only ones that can stop the pods that they started, and start them again."""

from pydantic import Field, model_validator

from quartermaster.config import units
from quartermaster.config.fields import HeaderSecret, Part, Text


class HubPart(Part):
    """A JupyterHub whose KubeSpawner starts pods in a namespace, and a token of a service of its own there."""

    namespace: Text = Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    """The namespace of its users' pods. Whoever may make pods there is trusted to say whose they are."""
    url: Text
    """Its API: http or https, such as `http://hub.jhub.svc:8081/hub/api`."""
    token: HeaderSecret
    """The token of a service that has the scopes `servers` and `list:users`, by reference."""

    @model_validator(mode="after")
    def _reachable(self) -> "HubPart":
        if not units.is_web_address(self.url) or "@" in self.url.split("/", 3)[2] or {"?", "#"} & {*self.url}:
            raise ValueError("url: a Hub's API looks like http://hub.jhub.svc:8081/hub/api")
        return self
