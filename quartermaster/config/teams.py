"""The teams' part of the configuration: pools, teams, whose an allocation is, what is promised to whom."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from quartermaster.config.fields import Glob, GpuParts, InstantMs, Name, Part, Text


class PoolPart(Part):
    """The nodes of one GPU model and purpose. A node is in the first pool that matches; in none, in the pool
    named after its model."""

    name: Name
    """The pool's name."""
    models: tuple[Glob, ...] = ("*",)
    """Patterns of which the node's GPU model matches at least one."""
    node_labels: Mapping[str, Glob] = {}
    """Node labels that are there, each with a pattern for its value."""
    most_parts: GpuParts | None = Field(default=None, alias="most_gpus")
    """The most GPUs that an autoscaler may let the pool grow to, in each cluster; without it, what its own
    objects say."""
    purchase: Literal["on_demand", "spot", "reserved", "owned"] | None = None
    """How the pool's nodes are bought; prices may ask for it."""


class TeamPart(Part):
    """Who pays, and who is promised quota."""

    name: Name
    """The team's name. `unassigned` is the house's own: what no rule matches."""
    department: Text = ""
    """The department that the team belongs to."""
    cost_centre: Text = ""
    """The cost centre, as text: "4711"."""


class LabelPart(Part):
    """A pod label that a rule asks for."""

    key: Name
    """The label's name, exactly."""
    value: Glob = "*"
    """A pattern for its value; `*` asks only that the label is there."""


class TeamRulePart(Part):
    """One rule; in order, the first whose every condition matches decides."""

    team: Name
    """The team that the rule gives."""
    cluster: Glob = "*"
    """A pattern for the cluster's name."""
    namespace: Glob = "*"
    """A pattern for the namespace."""
    label: LabelPart | None = None
    """A pod label."""
    user: Glob | None = None
    """A pattern for the user's name; matched when the allocation is recorded, because the name itself is not
    kept."""
    unix_user: Glob | None = None
    """A pattern for the Unix user's name; likewise."""
    unix_group: Glob | None = None
    """A pattern for the name of one of the Unix user's groups; likewise."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when the rule holds; without it, from when it is first declared (a first declaration holds for all
    the past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when it holds; without it, until it leaves this file."""


class GuaranteePart(Part):
    """GPUs promised to a team in a pool."""

    team: Name
    """The team."""
    pool: Name
    """The pool."""
    guaranteed_parts: GpuParts = Field(alias="gpus")
    """How many GPUs are promised; tenths and thousandths are fine."""
    limit_parts: GpuParts | None = Field(default=None, alias="limit")
    """How many GPUs the team may hold at most, borrowed ones included; without it, no limit."""
    weight: int = Field(default=1, ge=1, le=1_000_000)
    """The team's part in sharing what is spare."""
    cluster: Glob = "*"
    """A pattern for the clusters in which the promise is made, in each of them in full."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when the promise holds; without it, from when it is first declared (a first declaration holds for
    all the past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when it holds; without it, until it leaves this file."""

    @model_validator(mode="after")
    def _limit_above(self) -> "GuaranteePart":
        if self.limit_parts is not None and self.limit_parts < self.guaranteed_parts:
            raise ValueError("limit: it is below the guarantee")
        return self
