"""The configuration's shape: strict, frozen values with units in their names and a reason for each default.

Keys of the file are the aliases (`interval`), fields carry the unit (`interval_ms`). The description of a
field is what docs/configuration.md and the JSON Schema say of it.
"""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from quartermaster.config import units
from quartermaster.config.accounts import AccountsPart
from quartermaster.config.books import BudgetPart, Day
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.dashboards import DashboardsPart
from quartermaster.config.fields import (
    CATALOGS,
    Address,
    AnyPath,
    Currency,
    DurationMs,
    Glob,
    Part,
    Text,
    TimeZone,
    WholeSecret,
    as_written,
)
from quartermaster.config.findings import FindingsPart
from quartermaster.config.notify import NotifyPart
from quartermaster.config.policy import PolicyPart
from quartermaster.config.prices import RateCardPart, TariffPart
from quartermaster.config.reports import ReportsPart
from quartermaster.config.teams import GuaranteePart, PoolPart, TeamPart, TeamRulePart

Signal = Literal["gr_engine", "gpu_util", "sm", "tensor", "dram", "mem_copy", "power"]


class LedgerPart(Part):
    """Where the ledger is."""

    path: AnyPath = as_written("ledger")
    """The ledger's folder, relative to this file. It holds the data and, with `sqlite`, the catalog and the
    write lock."""
    catalog: Address = as_written("sqlite")
    """`sqlite` (one machine), `postgres:<connection string>` (a fleet) or `memory` (a test). A password
    stands in it by reference."""

    @model_validator(mode="after")
    def _known_catalog(self) -> "LedgerPart":
        kind, _, address = str(self.catalog).partition(":")
        if kind not in {"sqlite", "memory", "postgres"} or bool(address) != (kind == "postgres"):
            raise ValueError(f"catalog: {CATALOGS}")
        return self


class BusinessPart(Part):
    """In whose days and money the bills are, and how their books close."""

    time_zone: TimeZone = "UTC"
    """The IANA time zone whose midnights end a business day, and whose months are the periods."""
    currency: Currency = "EUR"
    """The currency (ISO 4217) of rate cards that name none."""
    calendar: Literal["month", "4-4-5"] = "month"
    """The periods whose books close: calendar months, or quarters of four, four and five weeks."""
    fiscal_year_start: Day | None = None
    """The first day of any one fiscal year, for `4-4-5`. Every year begins on its weekday, as near to its date as can
    be; where that gives a year of 53 weeks, the last period has the sixth."""
    grace_ms: DurationMs = as_written("5d", alias="grace")
    """How long after its end a period waits for late data and invoices before it may be closed."""
    two_persons: bool = False
    """Whether an author of prices that hold in a period needs somebody else's confirmation to close it."""
    books: AnyPath = as_written("books")
    """The folder into which closed periods are written, relative to this file."""
    accounts: AccountsPart = as_written({})
    """Under which names finance books it."""

    @model_validator(mode="after")
    def _year_of_weeks(self) -> "BusinessPart":
        if (self.calendar == "4-4-5") != (self.fiscal_year_start is not None):
            raise ValueError("fiscal_year_start: it goes with calendar 4-4-5, which needs it")
        return self


class ThresholdPart(Part):
    """The floor of a signal: at it or above, a device is computing."""

    signal: Signal
    """The signal: a share of one for all but `power`, which is in watts."""
    floor: int = Field(json_schema_extra={"type": "number"})
    """The floor, above zero: signals have noise. In the ledger permille, for power deciwatts. For `power`,
    the floor with a CUDA context on the GPU."""
    kind: Glob = "*"
    """A pattern for the workload's kind, such as Notebook."""
    model: Glob = "*"
    """A pattern for the GPU model."""

    @field_validator("floor", mode="before")
    @classmethod
    def _in_the_signals_unit(cls, value: object, info: ValidationInfo) -> int:
        return units.power_dw(value) if info.data.get("signal") == "power" else units.ratio_permille(value)


class PrivacyPart(Part):
    """People are not what is measured."""

    pseudonyms: bool = True
    """Whether the names of people stay out of the ledger; off, the table `people` has them, and `person
    erase` takes them out."""
    reports_name_people: bool = False
    """Whether reports name the person whose workload it is, where the ledger knows the name; who read them is
    recorded in `people_reads`."""
    key: WholeSecret | None = None
    """The key of the pseudonyms, by reference; without it, a file `pseudonym.key` made in the ledger's
    folder, readable by its owner alone."""


class SpoolPart(Part):
    """Where batches wait while the ledger is away."""

    path: AnyPath = as_written("spool")
    """The spool's folder, relative to this file."""
    max_mib: int = Field(default=1024, ge=1)
    """How much may wait, in MiB; then the oldest is dropped and recorded as a gap."""


class CollectorPart(Part):
    """The collecting process."""

    listen: Text = Field(default="127.0.0.1:9500", pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]*):[0-9]{1,5}$")
    """Address and port of its own metrics and health; this machine alone, unless told otherwise."""
    spool: SpoolPart = as_written({})
    """Where batches wait while the ledger is away."""
    log: Literal["plain", "json"] = "plain"
    """Lines for people, or JSON for machines."""

    @field_validator("listen")
    @classmethod
    def _port_there_can_be(cls, value: str) -> str:
        if int(value.rpartition(":")[2]) > 65535:
            raise ValueError("a port is at most 65535")
        return value


class RetentionPart(Part):
    """How long things are kept."""

    samples_ms: DurationMs = as_written("90d", alias="samples")
    """How long samples are kept; usage and charges outlive them."""


class Configuration(Part):
    """The whole configuration. Everything has a default but `clusters`."""

    ledger: LedgerPart = as_written({})
    """Where the ledger is."""
    business: BusinessPart = as_written({})
    """In whose days and money the bills are, and how their books close."""
    clusters: tuple[ClusterPart, ...] = Field(min_length=1)
    """The clusters that are measured."""
    pools: tuple[PoolPart, ...] = ()
    """Pools, in order; a node is in the first that matches."""
    teams: tuple[TeamPart, ...] = ()
    """Teams."""
    team_rules: tuple[TeamRulePart, ...] = ()
    """Which team an allocation is of, in order; the first rule that matches decides."""
    guarantees: tuple[GuaranteePart, ...] = ()
    """What is promised to whom."""
    rate_cards: tuple[RateCardPart, ...] = ()
    """What GPUs cost."""
    tariffs: tuple[TariffPart, ...] = ()
    """What electricity costs, and what it emits."""
    budgets: tuple[BudgetPart, ...] = ()
    """What teams mean to spend."""
    thresholds: tuple[ThresholdPart, ...] = ()
    """Floors of the signals, before the house's own. Of those that match, one for some kinds comes before one
    for all, and then a longer model pattern before a shorter."""
    privacy: PrivacyPart = as_written({})
    """How people are kept out of it."""
    collector: CollectorPart = as_written({})
    """The collecting process."""
    retention: RetentionPart = as_written({})
    """How long things are kept."""
    findings: FindingsPart = as_written({})
    """What is noticed, and after how long."""
    policy: PolicyPart = as_written({})
    """What the enforcer may plan."""
    notify: NotifyPart = as_written({})
    """How people are told before anything of theirs is taken."""
    reports: ReportsPart = as_written({})
    """Reports that are sent."""
    dashboards: DashboardsPart = as_written({})
    """The pages for people."""
