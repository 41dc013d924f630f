"""How the business counts its periods and names its accounts, by the configuration as it is now."""

import os
from pathlib import Path

from analytics.money.calendar import Calendar
from analytics.money.periods import calendar_of
from dashboards import access
from quartermaster.config.accounts import AccountsPart
from quartermaster.config.load import load_configuration
from quartermaster.config.model import BusinessPart


def calendar() -> Calendar:
    """The calendar of the configuration. Raises ConfigurationError."""
    return calendar_of(_business())


def accounts() -> AccountsPart:
    """What finance calls its accounts. Raises ConfigurationError."""
    return _business().accounts


def _business() -> BusinessPart:
    return load_configuration(Path(os.environ[access.CONFIGURATION]), os.environ).business
