"""The acting part of the policy: whether anything is done at all, and the budgets that nothing outranks."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from quartermaster.clock import HOUR_MS
from quartermaster.config import units
from quartermaster.config.fields import AnyPath, DurationMs, Part, Text, as_written
from quartermaster.config.kinds import KindPart

Mode = Literal["shadow", "plan", "act"]
Experimental = Literal["kai", "volcano"]
Share = Annotated[int, BeforeValidator(units.share_permille, json_schema_input_type=float | str)]
Multiple = Annotated[int, BeforeValidator(units.multiple_permille, json_schema_input_type=float | str)]
LEAST_COVERAGE_PERMILLE = 900  # below it nothing is planned either


class ActingPart(Part):
    """What the enforcer may do of what it plans. An owner's return does not outrank any of it. A workload counts when
    it is stopped; what is held back, started or warned counts against no limit."""

    mode: Mode = "shadow"
    """How far it may go: `shadow` does nothing, `plan` does what a person approved, `act` does it by itself. It is
    asked for by `--plan` or `--act` besides; neither goes further than this."""
    a_cycle: int = Field(default=1, ge=1, le=10_000)
    """How many workloads may be stopped at a time. What is taken for one owner is taken whole or not at all: who needs
    more workloads stopped than these gets none."""
    an_hour: int = Field(default=10, ge=1, le=100_000)
    """How many in any hour."""
    team_an_hour: int = Field(default=1, ge=1, le=100_000)
    """How many of one team in any hour."""
    pool_share_a_day: Multiple = as_written("0.02")
    """How much of a pool's available GPUs may be taken in any 24 hours, as a share of one; above 1 where a pool may
    change hands more than once a day. One workload a day may be taken whatever its size: of a small pool 0.02 is less
    than a GPU. In the ledger permille."""
    after_start_ms: DurationMs = as_written("15m", alias="after_start")
    """How long nothing is done after the enforcer has started: what it sees first may be half of the truth."""
    after_policy_change_ms: DurationMs = as_written("15m", alias="after_policy_change")
    """How long nothing is done after the policy has changed: time to see what it would do, and to take it back."""
    coverage_permille: Share = as_written("0.9", alias="coverage")
    """How much of what is held must be known, in the cluster and in the pool, as a share of one; below it nothing is
    done. It is not below 0.9, as nothing is planned there. In the ledger permille."""
    approval_lasts_ms: DurationMs = as_written("10m", alias="approval_lasts")
    """How long a plan may be approved after it was made, and how long an approval of it holds."""
    freeze_file: AnyPath | None = None
    """A file that stops everything while it is there, or cannot be looked at; its first line says why. Without it,
    `freeze` beside the ledger's folder."""
    audit_file: AnyPath | None = None
    """A file to which the audit's head is added after each turn that wrote to it, best where nobody can change what is
    there. By it `quartermaster audit verify` sees a tail that was cut off."""
    namespace: str = Field(default="quartermaster", pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    """The enforcer's namespace in the cluster: its Lease stands there, and the ConfigMap `quartermaster-freeze`, which
    stops everything while it is there."""
    listen: Text | None = Field(default=None, pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]*):[0-9]{1,5}$")
    """Address and port of the enforcer's own metrics while it may act, such as 127.0.0.1:9501; without it, none."""
    lend: bool = False
    """Whether quotas in the cluster are moved too: a team's ResourceQuota is raised while others do not use theirs, and
    Kueue's ClusterQueues follow bookings and offers. By `act` alone: it is not asked about."""
    experimental: tuple[Experimental, ...] = ()
    """Whose queues follow bookings and offers too, with `lend`: `kai`, `volcano`. Experimental, as only the APIs of
    these were tried, and neither scheduler was there."""
    kinds: tuple[KindPart, ...] = ()
    """Custom kinds of owners, by which field each is stopped and started again."""

    @model_validator(mode="after")
    def _not_at_odds(self) -> "ActingPart":
        if self.a_cycle > self.an_hour:
            raise ValueError("a_cycle: it is above an_hour")
        if self.team_an_hour > self.an_hour:
            raise ValueError("team_an_hour: it is above an_hour")
        if self.coverage_permille < LEAST_COVERAGE_PERMILLE:
            raise ValueError("coverage: nothing is planned below 0.9, so nothing can be done there")
        if self.approval_lasts_ms > HOUR_MS:
            raise ValueError("approval_lasts: nobody knows what a plan does an hour after it was made")
        names = [each.kind for each in self.kinds]
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise ValueError(f"kinds: {twice} stands there twice")
        places = [(each.group, each.plural) for each in self.kinds]
        shared = next((each for each in places if places.count(each) > 1), None)
        if shared is not None:
            raise ValueError(f"kinds: two of them are {shared[1]} of {shared[0]}")
        return self
