"""The figures of a report, as frozen values: terminal, JSON, CSV, HTML and pages read these and nothing else.

Time is integer part-milliseconds (`_pms`; 1 GPU = 168,000 parts); only the properties below give hours. Money
is Decimal at 10⁻⁶ of the currency; `Report.money` rounds it for the eye. Without a rate card in force
there is no currency, every cost is 0 and must not be shown: `money` then gives "–".
"""

from dataclasses import dataclass
from decimal import Decimal

from analytics.reports.audience import Audience, Kind
from analytics.reports.details import Books, Change, Closed, DeedRow, LentRow
from analytics.reports.span import Unit
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS

ZERO = Decimal(0)
GPU_HOUR_PMS = GPU_PARTS * HOUR_MS


@dataclass(frozen=True, slots=True)
class Amount:
    """Device time and what it cost at the card's price."""

    pms: int = 0
    cost: Decimal = ZERO

    @property
    def gpu_hours(self) -> float:
        """The same time in GPU-hours, for display only."""
        return self.pms / GPU_HOUR_PMS

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.pms + other.pms, self.cost + other.cost)


@dataclass(frozen=True, slots=True)
class Split:
    """Capacity, split by what is known of it. The six amounts add up to it and its cost, exactly."""

    computing: Amount = Amount()
    idle: Amount = Amount()
    unknown: Amount = Amount()
    unallocated: Amount = Amount()
    unavailable: Amount = Amount()
    unobserved: Amount = Amount()

    def __add__(self, other: "Split") -> "Split":
        return Split(*(mine + theirs for (_, mine), (_, theirs) in zip(self.parts, other.parts, strict=True)))

    @property
    def held(self) -> Amount:
        """What allocations covered: computing + idle + unknown."""
        return self.computing + self.idle + self.unknown

    @property
    def capacity(self) -> Amount:
        """Everything: held + unallocated + unavailable + unobserved."""
        return self.held + self.unallocated + self.unavailable + self.unobserved

    @property
    def coverage(self) -> float | None:
        """Known ÷ held, in [0, 1]; None where nothing was held."""
        return (self.held.pms - self.unknown.pms) / self.held.pms if self.held.pms else None

    @property
    def parts(self) -> tuple[tuple[str, Amount], ...]:
        """The six amounts by name, in the order in which bars and tables show them."""
        return (
            ("computing", self.computing),
            ("idle", self.idle),
            ("unknown", self.unknown),
            ("unallocated", self.unallocated),
            ("unavailable", self.unavailable),
            ("unobserved", self.unobserved),
        )


@dataclass(frozen=True, slots=True)
class DayCost:
    """One business day of a team, or of unallocated, unavailable, unobserved capacity (`is_team` false)."""

    day: str  # 2026-11-23, in the business's time zone
    name: str
    is_team: bool
    pms: int  # held by the team, or the line's time
    cost: Decimal  # what the team owes (base + shared + adjustments), or what the line cost before sharing


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One team's week. What it owes is `cost` = held.cost + shared + adjustments."""

    team: str
    department: str
    split: Split  # only computing, idle and unknown are above zero
    guaranteed_pms: int
    within_pms: int
    borrowed_pms: int
    lent_pms: int
    shared: Decimal  # its part of unallocated, unavailable and unobserved cost, where the card shares them
    adjustments: Decimal  # credits (below zero) and surcharges: faulted time is one
    cost: Decimal
    cost_before: Decimal | None  # the week before; None where it has no charges at all

    @property
    def change(self) -> Decimal | None:
        """How much more the team owes than the week before."""
        return None if self.cost_before is None else self.cost - self.cost_before


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One pool of one GPU model in one cluster."""

    cluster: str
    pool: str
    model: str
    split: Split
    unit_prices: tuple[Decimal, ...]  # each price per GPU-hour that held in the week

    @property
    def cost(self) -> Decimal:
        """The pool's cost: capacity × price."""
        return self.split.capacity.cost


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One workload's week, over all pools. The overlays (stalled, faulted, …) lie within held."""

    cluster: str
    workload_id: int
    team: str
    kind: str
    namespace: str
    name: str
    split: Split  # only computing, idle and unknown are above zero
    stalled_pms: int  # within computing: busy by the counter, without any work
    faulted_pms: int
    not_started_pms: int
    estimated_pms: int
    adjustments: Decimal
    cost: Decimal  # held.cost + adjustments
    person: str = ""  # whose it is, where the configuration lets reports name people

    @property
    def title(self) -> str:
        """As people name it: `Notebook vision/jupyter`, and whose it is where that may be told."""
        whose = f" of {self.person}" if self.person else ""
        return f"{self.kind} {self.namespace}/{self.name}{whose}"


@dataclass(frozen=True, slots=True)
class IdleRow:
    """One of the costliest idle workloads: what it wasted, what its devices showed, and what to do."""

    workload: WorkloadRow
    why: str  # idle | stalled | over-requested | not started
    wasted: Amount  # idle time and stalled time, with their cost
    devices: int  # that it held at some time of the week
    idle_devices: int  # of these, never seen computing
    last_computing_ms: (
        int | None
    )  # the end of the last usage row in which it computed; None: not in this week
    activity_permille: int | None  # mean over the known time; None where nothing is known
    activity_peak_permille: int | None
    power_peak_dw: int | None
    signals: str  # the same in words
    advice: str  # one sentence


@dataclass(frozen=True, slots=True)
class OwnLine:
    """What capacity cost that nobody held, and who bears it."""

    kind: str  # unallocated | unavailable | unobserved
    amount: Amount
    shared: Decimal  # of the cost, what teams bear
    unbilled: Decimal  # of the cost, what nobody is asked for
    treatment: str  # in words: "a line of its own", "shared by held hours", …

    @property
    def own(self) -> Decimal:
        """What stays as a line of its own."""
        return self.amount.cost - self.shared - self.unbilled


@dataclass(frozen=True, slots=True)
class WonBack:
    """What the enforcer took in the week or shortly before, and what others held of it in the week. Of one team: how
    many of its workloads were stopped, and what the team itself was given of all."""

    stopped: int
    started_again: int
    given_pms: int


@dataclass(frozen=True, slots=True)
class Report:
    """A week's or month's bill: figures only. Rows are in a reader's order (cost, highest first; days by date)."""

    span: str  # 2026-W48, 2026-11
    unit: Unit
    days: tuple[str, ...]  # its business days
    start_ms: int
    end_ms: int
    time_zone: str
    currency: str  # "" where no rate card was in force
    generated_at_ms: int
    known_until_ms: int | None  # how far the roll-up has read all clusters; None: not at all
    provisional: bool  # the span is not rolled up to its end
    audience: Audience  # for whom it is, and so of which teams it tells
    split: Split  # of the whole fleet, or of the teams' held time
    billed: Decimal  # what teams owe
    pool_cost: Decimal  # capacity × price; for some teams, the cost of what they held
    pool_cost_before: Decimal | None
    adjustments: Decimal  # Σ of the teams' credits and surcharges; what nobody is billed for
    by_day: tuple[DayCost, ...]
    by_team: tuple[TeamRow, ...]
    by_pool: tuple[PoolRow, ...]
    by_workload: tuple[WorkloadRow, ...]  # the hundred that cost most
    workload_count: int  # all that held something
    idlest: tuple[IdleRow, ...]  # at most ten
    own_lines: tuple[OwnLine, ...]
    notes: tuple[str, ...]  # what the figures do not know, in sentences
    won_back: WonBack | None = None  # None: nothing was taken
    won_ever: WonBack | None = None  # the same since there is a ledger, to the span's end
    days_split: tuple[tuple[str, Split], ...] = ()  # by day
    lending: tuple[LentRow, ...] = ()
    deeds: tuple[DeedRow, ...] = ()
    change: Change | None = None  # None: no span before it has charges, or this one is provisional
    books: Books | None = None  # for finance
    closed: Closed | None = None  # None: the span is no period, or its books are open

    @property
    def whole(self) -> bool:
        """Whether it tells of everything, and not of some teams alone."""
        return self.audience.whole

    @property
    def some(self) -> bool:
        """Whether it tells of one team's or department's held time alone."""
        return not self.audience.whole

    @property
    def team(self) -> str | None:
        """The one team that it is about; None: several."""
        return self.audience.name if self.audience.kind is Kind.TEAM else None

    @property
    def known_ms(self) -> int:
        """The milliseconds of the span that the figures cover: to its end, or as far as the roll-up has read."""
        until = self.end_ms if self.known_until_ms is None else min(self.end_ms, self.known_until_ms)
        return until - self.start_ms

    @property
    def priced(self) -> bool:
        """Whether a rate card was in force, so that costs mean something."""
        return bool(self.currency)

    def money(self, amount: Decimal | None, places: int = 2) -> str:
        """An amount for the eye: `1,234.50 EUR`; "–" where there is no price or no amount."""
        return f"{amount:,.{places}f} {self.currency}" if self.priced and amount is not None else "–"


def millionths(micros: int | None) -> Decimal:
    """An amount of money from whole millionths, exactly."""
    return Decimal(micros or 0).scaleb(-6)
