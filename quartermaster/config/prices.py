"""The prices' part of the configuration: rate cards."""

from typing import Literal

from pydantic import Field

from quartermaster.config.fields import Currency, Glob, InstantMs, Name, Part, Price, Text

Sharing = Literal["own", "none", "even", "held", "guarantee"]


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
    evenly, by held time, by guarantee."""
    unavailable: Sharing = "own"
    """The same for capacity that was cordoned, not ready or sick."""
    unobserved: Sharing = "own"
    """The same for capacity of which nobody could tell."""
    bill_faulted: bool = False
    """Whether time held on a faulty GPU is the team's cost. Off: nobody pays for a GPU that did not work."""
