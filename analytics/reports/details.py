"""The figures behind a report's first page, as frozen values: days, lending, deeds, why it changed, the books.

Time is integer part-milliseconds (`_pms`), money is Decimal at 10⁻⁶ of the report's currency.
"""

from dataclasses import dataclass
from decimal import Decimal

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class LentRow:
    """What one team lent to another, over all pools."""

    lender: str
    borrower: str
    pms: int


@dataclass(frozen=True, slots=True)
class DeedRow:
    """What the enforcer did, or (`came` is `would`) what it would have done while it only planned."""

    act: str  # stop, hold, start, warn
    cause: str  # by which rule, in words
    came: str  # done, no effect, failed, abandoned, undone, open; or would
    workloads: int
    parts: int  # that it frees (1 GPU = 168,000)


@dataclass(frozen=True, slots=True)
class Cause:
    """A part of a change: `new`, `ended`, `grown` and `shrunk` workloads, `price`, `shared`, `adjustments` or
    `corrections`. `title` and `team` name the workload; without a title they are `workloads` together."""

    kind: str
    amount: Decimal  # above zero: it costs more
    workloads: int = 0
    title: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What teams owe against the mean of the spans before. Σ of the causes = now − before, exactly."""

    spans: int  # that the mean is of, those just before this one
    now: Decimal
    before: Decimal
    causes: tuple[Cause, ...]  # the largest first
    held_pms: int
    idle_pms: int
    held_before_pms: int  # over all these spans
    idle_before_pms: int

    @property
    def amount(self) -> Decimal:
        """How much more is owed than before."""
        return self.now - self.before


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The lines of one account, kind, detail and measure, summed."""

    account: str  # team, own, clearing
    kind: str
    detail: str
    measure: str
    lines: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class CentreRow:
    """What one team owes, with where it is booked. `owed` = base + shared + adjustments + corrections."""

    cost_centre: str
    department: str
    team: str
    base: Decimal
    shared: Decimal
    adjustments: Decimal
    corrections: Decimal

    @property
    def owed(self) -> Decimal:
        """What it owes."""
        return self.base + self.shared + self.adjustments + self.corrections


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """One correction line: of what, whose, and how much."""

    day: str
    team: str
    account: str
    detail: str
    corrects: int | None  # the charge_id of the line that it corrects
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Closed:
    """The closing of the period that the span is: its number, its manifest's hash, and the one team's statement."""

    number: int
    sha256: str
    statement: str  # "" for several teams, and for a team that has none

    @property
    def words(self) -> str:
        """The same in one sentence."""
        statement = f", statement {self.statement}" if self.statement else ""
        return f"Books closed with number {self.number}{statement}, SHA-256 {self.sha256}"


@dataclass(frozen=True, slots=True)
class Books:
    """The span as finance reads it: every line of cost is in one of the accounts, once."""

    accounts: tuple[AccountRow, ...]
    centres: tuple[CentreRow, ...]
    corrections: tuple[CorrectionRow, ...]  # the largest, at most fifty
    correction_count: int

    def of_account(self, account: str) -> Decimal:
        """The sum of an account's lines."""
        return sum((row.amount for row in self.accounts if row.account == account), ZERO)

    @property
    def total(self) -> Decimal:
        """The sum of all lines."""
        return sum((row.amount for row in self.accounts), ZERO)

    @property
    def capacity(self) -> Decimal:
        """What all capacity cost at the card: where adjustments, sharing and corrections start from."""
        return sum((row.amount for row in self.accounts if row.kind in CAPACITY), ZERO)


CAPACITY = frozenset({"base", "unallocated", "unavailable", "unobserved"})
