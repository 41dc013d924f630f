"""The policy's part of the configuration: what the enforcer may plan, whom it spares, and how long it waits."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config import units
from quartermaster.config.acting import ActingPart
from quartermaster.config.fields import DurationMs, Glob, GpuParts, Name, Part, as_written
from quartermaster.team import glob_matches

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_MOST_PRIORITY = 2_000_001_000  # Kubernetes' system-node-critical


def _minute_of_day(value: object) -> int:
    hour, colon, minute = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not (colon and len(hour) == len(minute) == 2 and hour.isdecimal() and minute.isdecimal()):
        raise ValueError('a time of day looks like "08:00"')
    told = int(hour) * 60 + int(minute)
    if told > 24 * 60 or int(minute) > 59:
        raise ValueError('a time of day is between "00:00" and "24:00"')
    return told


MinuteOfDay = Annotated[int, BeforeValidator(_minute_of_day, json_schema_input_type=str)]
Permille = Annotated[int, BeforeValidator(units.share_permille, json_schema_input_type=float | str)]


class ProtectedPart(Part):
    """What is never taken, whatever else holds."""

    namespaces: tuple[Glob, ...] = (
        "kube-*",
        "gpu-operator",
        "nvidia-*",
        "kueue-system",
        "kai-*",
        "volcano-*",
    )
    """Patterns for namespaces: the cluster's own, and those of the schedulers."""
    priority_from: int = Field(default=1_000_000_000, ge=1, le=_MOST_PRIORITY)
    """Pods of this priority and above. Kubernetes keeps what lies above a thousand million for the system."""
    labels: Mapping[str, Glob] = {}
    """Labels of a workload, each with a pattern for its value; one of them is enough."""
    owners: tuple[Glob, ...] = ()
    """Patterns for workloads, as `Kind/namespace/name`."""


class IdleRulePart(Part):
    """When a workload that stands idle is warned, and when it is taken."""

    kinds: tuple[Glob, ...] = Field(min_length=1)
    """Patterns for the workload's kind. `serving` stands for whatever answers requests: InferenceService, RayService,
    LeaderWorkerSet, and any Deployment behind a Service."""
    warn_ms: DurationMs | None = Field(default=None, alias="warn")
    """How long it is idle before the first warning; without it, idle workloads of these kinds are reported only."""
    again_ms: DurationMs | None = Field(default=None, alias="again")
    """How long before the second."""
    take_ms: DurationMs | None = Field(default=None, alias="take")
    """How long before it is taken."""
    in_business_hours: bool = True
    """Whether it may be taken in business hours."""
    keep_at_most_ms: DurationMs = as_written("24h", alias="keep_at_most")
    """How far past `take` its people may keep it, however often they ask: idleness that nobody ends has an end."""

    @model_validator(mode="after")
    def _a_ladder(self) -> "IdleRulePart":
        steps = (self.warn_ms, self.again_ms, self.take_ms)
        if steps == (None, None, None):
            return self
        if self.warn_ms is None or self.again_ms is None or self.take_ms is None:
            raise ValueError("warn, again and take stand together or not at all")
        if not self.warn_ms < self.again_ms < self.take_ms:
            raise ValueError("take: warn comes before again, and again before take")
        return self


class BusinessHoursPart(Part):
    """When people are at work, in the business's time zone."""

    days: tuple[Weekday, ...] = Field(default=("mon", "tue", "wed", "thu", "fri"), min_length=1)
    """Days of the week."""
    start_minute: MinuteOfDay = as_written("08:00", alias="from")
    """When the day begins."""
    end_minute: MinuteOfDay = as_written("18:00", alias="to")
    """When it ends."""

    @model_validator(mode="after")
    def _forward(self) -> "BusinessHoursPart":
        if self.end_minute <= self.start_minute:
            raise ValueError("to: it ends before it begins")
        return self


class PastUsePart(Part):
    """How past borrowing counts when spare GPUs are dealt."""

    half_life_ms: DurationMs = Field(alias="half_life")
    """After how long it counts half."""
    counts: Permille = as_written(1)
    """How much of it counts, as a share of one: at 1 a team that borrowed 8 GPUs all the time is dealt as if it
    had 8 already. In the ledger permille."""


class DepartmentPart(Part):
    """What is promised to a department in a pool, above what its teams are promised."""

    department: Name
    """The department."""
    pool: Name
    """The pool."""
    guaranteed_parts: GpuParts = as_written(0, alias="gpus")
    """How many GPUs are promised to it: what its teams' guarantees leave of them stays among its teams."""
    limit_parts: GpuParts | None = Field(default=None, alias="limit")
    """How many GPUs its teams may hold together at most; without it, no limit."""
    weight: int = Field(default=1, ge=1, le=1_000_000)
    """Its part in sharing what is spare."""
    priority: int = Field(default=0, ge=-1_000_000, le=1_000_000)
    """Before whom it is served when spare GPUs are dealt: the higher first."""

    @model_validator(mode="after")
    def _limit_above(self) -> "DepartmentPart":
        if self.limit_parts is not None and self.limit_parts < self.guaranteed_parts:
            raise ValueError("limit: it is below the guarantee")
        return self


class PriorityPart(Part):
    """Which teams are served first when spare GPUs are dealt; in order, the first that matches counts."""

    team: Glob = "*"
    """A pattern for the team."""
    pool: Glob = "*"
    """A pattern for the pool."""
    priority: int = Field(ge=-1_000_000, le=1_000_000)
    """The priority: the higher first; 0 without a rule."""


class RebalancePart(Part):
    """Within which bounds guarantees may be moved between the teams of a pool. Their total stays as it is."""

    pool: Name
    """The pool."""
    floor_parts: GpuParts = as_written(0, alias="floor")
    """No team's guarantee is moved below it."""
    ceiling_parts: GpuParts = Field(alias="ceiling")
    """No team's guarantee is moved above it."""
    step_parts: GpuParts = Field(alias="step_a_week")
    """How much of one team's guarantee may be moved in seven days."""
    small_parts: GpuParts = as_written(0, alias="without_approval")
    """Up to how much a proposal needs nobody's approval; none, unless told otherwise."""
    weeks: int = Field(default=4, ge=1, le=52)
    """From how many of the last weeks the use is taken."""

    @model_validator(mode="after")
    def _bounds(self) -> "RebalancePart":
        if self.floor_parts >= self.ceiling_parts:
            raise ValueError("ceiling: it is not above the floor")
        if self.small_parts > self.step_parts:
            raise ValueError("without_approval: it is above step_a_week")
        return self


_WORKSPACES: dict[str, Any] = {
    "kinds": ("Notebook", "workspace"),
    "warn": "2h",
    "again": "4h",
    "take": "8h",
    "in_business_hours": False,
    "keep_at_most": "72h",
}
_SERVING: dict[str, Any] = {"kinds": ("serving",)}
_BATCH: dict[str, Any] = {"kinds": ("*",), "warn": "60m", "again": "105m", "take": "120m"}


class PolicyPart(Part):
    """What the enforcer may plan. Nothing of this makes it act: that is asked for each time."""

    minimum_runtime_ms: DurationMs = as_written("10m", alias="minimum_runtime")
    """How long a borrower runs before an owner's return may take it. It delays owners by as much; shorter, and work
    is taken that has not reached its first checkpoint."""
    back_off_ms: DurationMs = as_written("1h", alias="back_off")
    """How long who was preempted is spared, and not started again on borrowed GPUs. An owner who finds no other way
    takes it nevertheless."""
    boot_wait_ms: DurationMs = as_written("5m", alias="boot_wait")
    """How long a node that is booting is waited for before anybody is taken: from when it was asked for."""
    bind_wait_ms: DurationMs = as_written("30s", alias="bind_wait")
    """How long the scheduler has to bind pods to free GPUs. What waits longer has a reason that is not seen here, and
    nobody is taken for it."""
    watch_ms: DurationMs = as_written("60s", alias="watch")
    """How long freed GPUs are watched until the owner's pods are bound: nobody else is taken for it meanwhile."""
    behind_ms: DurationMs = as_written("2m", alias="behind")
    """How old the picture of the cluster may be; nothing is planned on an older one. Servers send a sign of life
    about once a minute, and one that is busy was seen to take 92 s."""
    grace_ms: DurationMs = as_written("20m", alias="grace")
    """How long after its start nothing is held against a container: loading, compiling and staging look idle."""
    protected: ProtectedPart = as_written({})
    """What is never taken."""
    idle: tuple[IdleRulePart, ...] = as_written((_WORKSPACES, _SERVING, _BATCH))
    """What becomes of idle workloads, in order; the first rule that names the kind counts. Workspaces stand idle while
    people think, so they are taken late and at night, and may be kept over a weekend; batch work that is idle for an
    hour hangs or waits for nobody."""
    business_hours: BusinessHoursPart = as_written({})
    """When people are at work."""
    past_use: PastUsePart | None = None
    """How past borrowing counts; without it, it does not."""
    departments: tuple[DepartmentPart, ...] = ()
    """What is promised to departments."""
    priorities: tuple[PriorityPart, ...] = ()
    """Which teams are served first."""
    rebalance: tuple[RebalancePart, ...] = ()
    """Between which bounds guarantees may be moved; without one for a pool, none is proposed there."""
    acting: ActingPart = as_written({})
    """What may be done of it: nothing, unless told otherwise."""

    @model_validator(mode="after")
    def _not_at_odds(self) -> "PolicyPart":
        if self.watch_ms > 10 * MINUTE_MS:
            raise ValueError("watch: longer than ten minutes holds up every other plan")
        if self.behind_ms > HOUR_MS:
            raise ValueError("behind: nobody is taken on what was true an hour ago")
        return self

    def idle_rule(self, kind: str, *, serving: bool) -> IdleRulePart | None:
        """The rule for a workload of that kind; None where none names it, so that it is reported only."""
        name = "serving" if serving else kind
        return next((rule for rule in self.idle if _names(rule.kinds, name)), None)

    def priority_of(self, team: str, pool: str) -> int:
        """The priority at which a team is dealt spare GPUs in a pool."""
        found = (
            each.priority
            for each in self.priorities
            if _names((each.team,), team) and _names((each.pool,), pool)
        )
        return next(found, 0)


def _names(patterns: tuple[str, ...], name: str) -> bool:
    return any(glob_matches(pattern, name) for pattern in patterns)
