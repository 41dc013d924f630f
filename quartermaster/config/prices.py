"""The prices' part of the configuration: rate cards, and what electricity costs."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from quartermaster.config import units
from quartermaster.config.fields import (
    Currency,
    DurationMs,
    Glob,
    GpuParts,
    InstantMs,
    Name,
    Part,
    Price,
    Text,
    as_written,
)

Sharing = Literal["own", "none", "even", "held", "guarantee", "weighted"]
Purchase = Literal["on_demand", "spot", "reserved", "owned"]
Lost = Literal["bill", "half", "credit"]
Share = Annotated[int, BeforeValidator(units.share_permille, json_schema_input_type=float | str)]
Multiple = Annotated[int, BeforeValidator(units.multiple_permille, json_schema_input_type=float | str)]
Weight = Annotated[int, Field(ge=0, le=1_000_000)]

VARIANTS = (
    *("borrowed", "preemptible", "reserved", "lent", "idle"),
    *("cpu_hour", "memory_gib_hour"),
)  # a price line's other prices: the ledger's measures, by the same names


class PricePart(Part):
    """One price of a card; in order, the first that matches is taken."""

    gpu_hour: Price
    """The price of a whole GPU held for an hour; in quotes, to be read exactly as written."""
    model: Glob = "*"
    """A pattern for the GPU model."""
    pool: Glob = "*"
    """A pattern for the pool."""
    cluster: Glob = "*"
    """A pattern for the cluster."""
    profile: Glob = "*"
    """A pattern for the MIG profile, such as `1g.10gb`; what it matches has a price of its own, for a whole
    GPU of such instances. `*` matches whole GPUs too."""
    purchase: Purchase | None = None
    """Only for pools that are bought so (pools.purchase); without it, for all."""
    borrowed: Price | None = None
    """The price of a GPU-hour above the team's guarantee; without it, `gpu_hour`."""
    preemptible: Price | None = None
    """The price of a GPU-hour of a preemptible pod; without it, `gpu_hour`."""
    reserved: Price | None = None
    """What each guaranteed GPU-hour costs, used or not, beside what is held; without it, nothing."""
    lent: Price | None = None
    """What a team is credited for each GPU-hour of its guarantee that others held; at most `reserved`."""
    idle: Price | None = None
    """The surcharge on a GPU-hour that is confirmed idle; without it, none."""
    cpu_hour: Price | None = None
    """The price of a CPU core that a pod with GPUs asks for, for an hour; without it, part of the GPU's."""
    memory_gib_hour: Price | None = None
    """The price of a GiB of memory that a pod with GPUs asks for, for an hour; without it, part of the
    GPU's."""

    @model_validator(mode="after")
    def _no_gain_from_guarantees(self) -> "PricePart":
        if self.lent is not None and self.lent > (self.reserved or 0):
            raise ValueError(
                "lent: it is more than reserved; a team would gain by raising a guarantee that it does not use"
            )
        return self

    @property
    def prices(self) -> dict[str, Decimal]:
        """Every price of the line, by measure."""
        others = {name: getattr(self, name) for name in VARIANTS}
        return {"gpu_hour": self.gpu_hour} | {
            name: price for name, price in others.items() if price is not None
        }


class DiscountPart(Part):
    """What some teams pay less; of a card's discounts the first that matches is given."""

    team: Glob
    """A pattern for the team."""
    off: Share
    """The part of what it holds that it does not pay: 0.15 is 15 %."""


class CommitmentPart(Part):
    """A fixed sum that a team pays every month for GPUs of a pool, which it then holds without paying for them."""

    team: Name
    """The team."""
    pool: Name
    """The pool."""
    cluster: Name
    """The cluster."""
    gpus: GpuParts
    """How many GPUs: of what the team holds in a day, the first this many × the day's hours are covered."""
    month: Price
    """The sum of a calendar month, in the card's currency."""


class RateCardPart(Part):
    """Prices in force from an instant until the next card's."""

    card: Name
    """The card's name."""
    currency: Currency | None = None
    """The card's currency; without it, the business's."""
    author: Text = ""
    """Who set the prices; it is kept with them."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when the card is in force; without it, from when it is first declared (a first declaration holds
    for all the past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when; without it, until the next card begins."""
    prices: tuple[PricePart, ...] = Field(min_length=1)
    """The prices, in order."""
    unallocated: Sharing = "own"
    """How the cost of capacity that nobody held is shared: a line of its own (`own`), nobody's (`none`),
    evenly, by held time, by guarantee, by the card's weights."""
    unavailable: Sharing = "own"
    """The same for capacity that was cordoned, not ready or sick."""
    unobserved: Sharing = "own"
    """The same for capacity of which nobody could tell."""
    system_namespaces: tuple[Glob, ...] = ()
    """Patterns for namespaces whose workloads serve everybody."""
    system: Sharing = "held"
    """How the cost of what those workloads held is shared; `own` leaves it with the team that held it."""
    weights: Mapping[Name, Weight] = {}
    """The teams' weights for `weighted`; a team that is not named weighs 1."""
    bill_faulted: bool = False
    """Whether time held on a faulty GPU is the team's cost. Off: nobody pays for a GPU that did not work."""
    lost: Lost = "bill"
    """What becomes of the cost of work that an owner's return ended: billed, half of it, or credited."""
    lost_at_most_ms: DurationMs = as_written("24h", alias="lost_at_most")
    """How much of the time before the end counts as lost."""
    idle_coverage_permille: Share = as_written("0.9", alias="idle_coverage")
    """How much of an hour must be known for its idle time to be surcharged."""
    discounts: tuple[DiscountPart, ...] = ()
    """Discounts by team, in order."""
    commitments: tuple[CommitmentPart, ...] = ()
    """Commitments."""
    bill_energy: bool = False
    """Whether the electricity of what a team held is added to its bill, by `tariffs`."""


class TariffPart(Part):
    """What electricity costs, and what it emits."""

    kwh: Price
    """The price of a kilowatt-hour."""
    currency: Currency | None = None
    """The currency; without it, the business's."""
    pue_permille: Multiple = as_written("1", alias="pue")
    """What the building draws for each kilowatt-hour of the GPUs: 1.3 is 30 % for cooling and losses."""
    grams_per_kwh: Price | None = None
    """Grams of CO₂ (equivalent) that a kilowatt-hour emits, where no hourly figures are known
    (quartermaster prices carbon); without it, not known."""
    cluster: Glob = "*"
    """A pattern for the cluster; of those that match the longest counts."""
    author: Text = ""
    """Who set it; it is kept with it."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when it holds; without it, from when it is first declared (a first declaration holds for all the
    past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when it holds; without it, until it leaves this file."""
