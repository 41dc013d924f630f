"""The books' part of the configuration: the fiscal year's first day, and what teams mean to spend."""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from quartermaster.config.fields import Name, Part, Price
from quartermaster.config.units import multiple_permille

_PERIOD = re.compile(r"(\d{4}-(0[1-9]|1[0-2])|FY\d{4}-P(0[1-9]|1[0-2]))", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 2000, 2199


def _day(value: object) -> date:
    try:
        found = date.fromisoformat(value if isinstance(value, str) else str(value))
    except ValueError as error:
        raise ValueError("a day is written 2026-02-01") from error
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR or (found.month, found.day) == (2, 29):
        raise ValueError(
            "a fiscal year begins in a year that somebody bills, and on a day that every year has"
        )
    return found


def _period(value: object) -> str:
    if not isinstance(value, str) or not (value == "" or _PERIOD.fullmatch(value)):
        raise ValueError("a period is 2026-11, or FY2026-P11 of a fiscal calendar")
    return value


Day = Annotated[date, BeforeValidator(_day, json_schema_input_type=str)]
Permille = Annotated[int, BeforeValidator(multiple_permille, json_schema_input_type=float | str)]
PeriodName = Annotated[str, BeforeValidator(_period, json_schema_input_type=str)]


class BudgetPart(Part):
    """What a team means to spend in a period."""

    team: Name
    """The team."""
    amount: Price
    """How much, in the business's currency; in quotes, to be read exactly as written."""
    period: PeriodName = ""
    """The one period that it is for, as 2026-11 or FY2026-P11; without it, each period that has none of its own."""
    alerts: tuple[Permille, ...] = Field(default=(500, 800, 1000))
    """The shares of it at which an alert is recorded, each once a period: [0.5, 0.8, 1]."""

    @model_validator(mode="after")
    def _more_than_nothing(self) -> "BudgetPart":
        if self.amount <= Decimal(0):
            raise ValueError("amount: a budget is more than nothing")
        return self
