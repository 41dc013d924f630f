"""How reports are sent: on which schedule, about whom, in which forms, by which channels."""

import re
from datetime import UTC, datetime
from typing import Literal

from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator, model_validator

from quartermaster.config.fields import Name, Part, Text

_AUDIENCE = re.compile(r"managers|finance|teams|departments|(team|department) \S.*")


class SendingPart(Part):
    """A report that goes out by itself."""

    name: Name
    """What it is called here, in the ledger and in messages."""
    schedule: Text
    """When it is due, as a cron expression of five fields in the business's time zone; the last span that was complete
    then is told. After a pause the last one that was missed is caught up on, and none is sent twice."""
    audience: Text
    """For whom it is: `managers`, `finance`, `team vision`, `department research`; `teams` and `departments` are a
    report of its own for each of them."""
    span: Literal["week", "month"] = "week"
    """What it tells of."""
    forms: tuple[Literal["html", "pdf", "xlsx", "csv", "json"], ...] = Field(default=("pdf",), min_length=1)
    """The files that go with it."""
    to: tuple[Name, ...] = ()
    """The channels (of `notify`) that it goes by, each by itself. Without them a team's report goes by the channels
    that `notify.routes` has for the team."""

    @field_validator("schedule")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        try:
            next(CronSim(value, datetime(2026, 1, 1, tzinfo=UTC)))
        except (CronSimError, StopIteration) as error:
            raise ValueError(
                f"{value!r} is no cron expression: write five fields, as 0 7 * * 1 for Mondays at seven"
            ) from error
        return value

    @field_validator("audience")
    @classmethod
    def _is_audience(cls, value: str) -> str:
        if not _AUDIENCE.fullmatch(value):
            raise ValueError(
                "an audience is managers, finance, teams, departments, team NAME or department NAME"
            )
        return value

    @model_validator(mode="after")
    def _leads_somewhere(self) -> "SendingPart":
        if not self.to and not self.audience.startswith("team"):
            raise ValueError(
                f"to: the report for {self.audience} has no channel; teams alone have notify.routes"
            )
        return self


class ReportsPart(Part):
    """Reports that are sent."""

    sending: tuple[SendingPart, ...] = ()
    """What is sent, when and to whom."""
