"""The findings' part of the configuration: how long something must be so before it is noticed, and why so long."""

from pydantic import model_validator

from quartermaster.config.fields import DurationMs, Glob, Part, as_written
from quartermaster.config.policy import Permille


class FindingsPart(Part):
    """What analysis notices. How long a workload is idle before anything is said to anybody is in `policy.idle`, by
    kind: its first step, `warn`, is the window of a finding too."""

    report_after_ms: DurationMs = as_written("2h", alias="report_after")
    """The window for kinds that `policy.idle` has without a ladder, such as what serves requests: two quiet hours are
    usual there at night, and are reported only."""
    forgotten_after_ms: DurationMs = as_written("24h", alias="forgotten_after")
    """How long a workspace is idle before it is called forgotten: a day in which nobody came back."""
    workspaces: tuple[Glob, ...] = ("Notebook", "*Workspace*", "workspace")
    """Patterns for the kinds that are workspaces of people."""
    not_started_after_ms: DurationMs = as_written("30m", alias="not_started_after")
    """How long a pod is bound without ever starting before its GPUs are called reserved and never started: large images
    take some minutes to pull."""
    starving_after_ms: DurationMs = as_written("1h", alias="starving_after")
    """How long a team waits for what its guarantee still has. It is seen by the hour."""
    quota_window_ms: DurationMs = as_written("7d", alias="quota_window")
    """Over how long a guarantee's use is judged: a whole week, as weekends are quieter. At least nine tenths of it
    must be told."""
    idle_quota: Permille = as_written("0.5")
    """From which share of a guarantee on, neither used nor lent, it is an idle quota."""
    never_used: Permille = as_written("0.01")
    """Up to which share of a guarantee it is called never used."""
    always_used: Permille = as_written("0.99")
    """From which share on it is called always used."""

    @model_validator(mode="after")
    def _in_order(self) -> "FindingsPart":
        if self.never_used >= self.always_used:
            raise ValueError("always_used: it is not above never_used")
        return self
