"""Accounts: under which names finance books what the fleet costs."""

from quartermaster.config.fields import Part, Text


class AccountsPart(Part):
    """Under which names the fleet's costs stand in finance's files."""

    provider: Text = "GPU Fleet"
    """Who provides the fleet and sends its bills: provider, publisher and issuer in FOCUS."""
    fleet: Text = "fleet"
    """The cost centre that bears what no team does, and to which what teams owe is credited."""
    usage: Text = "gpu-usage"
    """The account of what a team held."""
    shared: Text = "gpu-shared"
    """The account of a team's part of shared cost."""
    adjustments: Text = "gpu-adjustments"
    """The account of credits, discounts and surcharges."""
    corrections: Text = "gpu-corrections"
    """The account of what corrects a closed period."""
    own: Text = "gpu-own"
    """The account of capacity that no team bears, in the fleet's cost centre."""
    recovery: Text = "gpu-recovery"
    """The account of the fleet's cost centre that all of it is credited to."""
