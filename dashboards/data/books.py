"""How the business counts its periods and names its accounts, by the configuration as it is now."""

from analytics.money.calendar import Calendar
from analytics.money.periods import calendar_of
from dashboards import access
from quartermaster.config.accounts import AccountsPart


def calendar() -> Calendar:
    """The calendar of the configuration. Raises ConfigurationError."""
    return calendar_of(access.configuration().business)


def accounts() -> AccountsPart:
    """What finance calls its accounts. Raises ConfigurationError."""
    return access.configuration().business.accounts
