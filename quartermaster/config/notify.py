"""How people are told: the channels there are, which team is told by which, and how owners are written to."""

from pydantic import Field

from quartermaster.config.fields import DurationMs, Glob, Name, Part, WholeSecret, as_written
from quartermaster.team import glob_matches


class ChannelPart(Part):
    """A way to tell people: mail, Slack, Teams, a webhook, or whatever else apprise knows."""

    name: Name
    """What it is called here, in the ledger and in messages; its URL is shown nowhere."""
    url: WholeSecret
    """Its URL as apprise writes it (`mailtos://…`, `slack://…`, `workflows://…`, `jsons://…`), by reference: whoever
    has it can write there."""
    timeout_ms: DurationMs = as_written("10s", alias="timeout")
    """How long its server may take for a message; what it has not taken by then counts as not accepted."""
    an_hour: int = Field(default=60, ge=1, le=10_000)
    """How many messages it carries an hour at most; the others wait for their turn, and nobody is taken unwarned."""


class RoutePart(Part):
    """By which channels a team is told; in order, the first route that names the team counts."""

    team: Glob = "*"
    """A pattern for the team."""
    channels: tuple[Name, ...] = Field(min_length=1)
    """The channels' names; a message goes by each of them."""


class NotifyPart(Part):
    """How people are told before anything of theirs is taken. Without it nobody is, so that nothing idle is taken."""

    channels: tuple[ChannelPart, ...] = ()
    """The channels."""
    routes: tuple[RoutePart, ...] = ()
    """Which team is told by which channels, in order."""
    owners: Name | None = None
    """The channel by which an owner is written to whose contact the ledger knows: one of mail, whose addressee it
    becomes. Without it, teams alone are told."""
    retry_ms: DurationMs = as_written("1m", alias="retry")
    """How long after a message was not accepted it is tried again; it may be the same outage still."""

    def channels_of(self, team: str) -> tuple[ChannelPart, ...]:
        """The channels by which a team is told, each once; none where no route names it."""
        chosen = next((each.channels for each in self.routes if glob_matches(each.team, team)), ())
        return tuple(each for each in self.channels if each.name in chosen)

    def channel(self, name: str | None) -> ChannelPart | None:
        """The channel of that name."""
        return next((each for each in self.channels if each.name == name), None)
