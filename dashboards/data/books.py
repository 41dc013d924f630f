"""How the business counts its periods, by the configuration as it is now."""

import os
from pathlib import Path

from analytics.money.calendar import Calendar
from analytics.money.periods import calendar_of
from dashboards import access
from quartermaster.config.load import load_configuration


def calendar() -> Calendar:
    """The calendar of the configuration. Raises ConfigurationError."""
    return calendar_of(load_configuration(Path(os.environ[access.CONFIGURATION]), os.environ).business)
