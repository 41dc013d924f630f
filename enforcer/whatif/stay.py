"""A stay: a gang on its GPUs, from when it was bound until it ends or is taken."""

from dataclasses import dataclass, field

from enforcer.whatif.asked import Asked
from enforcer.whatif.floor import Places


@dataclass(eq=False)
class Stay:
    """`before_ms` of its whole run were over when it began."""

    asked: Asked
    begun_ms: int
    places: Places
    before_ms: int = 0
    over: bool = False

    @property
    def ends_ms(self) -> int:
        """When it ends by itself."""
        return self.begun_ms + self.asked.run_ms - self.before_ms

    def lost_pms(self, at_ms: int) -> int:
        """The work that is lost, were it stopped."""
        return self.asked.parts * (at_ms - self.begun_ms)

    def idle_at(self, at_ms: int) -> bool:
        """Whether it stands idle then."""
        into_ms = at_ms - self.begun_ms + self.before_ms
        return any(start <= into_ms < end for start, end in self.asked.idle)


@dataclass(frozen=True)
class Run:
    """A stay that is over, or lasts to the end of the past (`how` is "open")."""

    begun_ms: int
    ended_ms: int
    how: str  # done | open | preempted | idle | lost
    before_ms: int = 0


@dataclass
class Story:
    """What became of one that was asked for; instants in order."""

    asked: Asked
    runs: list[Run] = field(default_factory=list[Run])
    waited_ms: int = 0
    waits_since_ms: int | None = None  # it waits still
