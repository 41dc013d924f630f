"""A play: one pool from event to event. What ends, comes or falls idle is seen to; then those who wait are served.

First those whom a guarantee covers, borrowers giving way to them; then those who borrow, the one least above its
guarantee for its weight first. GPUs change hands at once.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import count

from enforcer.standing import Reading, Standing, standing_of
from enforcer.whatif.asked import Asked, Machine, Turn
from enforcer.whatif.books import Books
from enforcer.whatif.floor import Floor, Places
from enforcer.whatif.giving import choose
from enforcer.whatif.limits import Limits
from enforcer.whatif.stay import Run, Stay, Story
from enforcer.whatif.takings import Takings
from enforcer.whatif.terms import Terms
from enforcer.whatif.waits import Line, Queue, Waits

_ENDS, _TURNS, _COMES, _IDLES, _LOOKS = range(5)  # what happens, in this order where it happens at once
_About = Stay | Waits | Turn | tuple[Stay, int] | None
_Event = tuple[int, int, int, _About]


class Play:
    """One pool under some terms, from `from_ms` on."""

    def __init__(
        self, terms: Terms, pool: str, machines: Sequence[Machine], stories: Sequence[Story], from_ms: int
    ) -> None:
        self._terms = terms
        self._pool = pool
        self._promises = {each.team: each for each in terms.promises if each.pool == pool}
        self._floor = Floor(machines)
        self._queue = Queue()
        self._limits = Limits(terms.policy.acting)
        self._stories = {story.asked.uid: story for story in stories}
        teams = sorted({*self._promises, *(story.asked.team for story in stories)})
        guaranteed = {
            team: self._promises[team].guaranteed_parts if team in self._promises else 0 for team in teams
        }
        self.books = Books(from_ms, guaranteed)
        self._running: dict[str, dict[Stay, None]] = {
            team: {} for team in teams
        }  # in the order of their binding
        self._sizes = {parts for story in stories for parts in story.asked.pods}
        self._standing = self._divided(dict.fromkeys(teams, 0), dict.fromkeys(teams, self._floor.parts))
        self._events: list[_Event] = []
        self._number = count()
        self._takings = Takings(terms, self._running)
        self._full: dict[tuple[int, ...], int] = {}  # what found no room, and how much had been given by then
        self._begin(stories, from_ms)

    def will_turn(self, turn: Turn) -> None:
        """A machine will change."""
        self._at(turn.at_ms, _TURNS, turn)

    def until(self, until_ms: int) -> None:
        """Play on to the end, and write down who runs and who waits still."""
        while self._events and self._events[0][0] < until_ms:
            at_ms = self._events[0][0]
            self._note(at_ms)
            while self._events and self._events[0][0] == at_ms:
                self._happens(heappop(self._events))
            while self._served(at_ms):
                pass
        self._note(until_ms)
        for stays in self._running.values():
            for stay in stays:
                how = "done" if stay.ends_ms <= until_ms else "open"
                self._tell(stay, until_ms, how)
        for line in self._queue.lines():
            for waits in line.waits:
                story = self._stories[waits.asked.uid]
                story.waited_ms += until_ms - waits.since_ms
                story.waits_since_ms = waits.since_ms

    def _begin(self, stories: Sequence[Story], from_ms: int) -> None:
        """What ran already goes on where it ran, or as near as there is room; what is asked for later comes."""
        there = sorted(
            (story.asked for story in stories if story.asked.begun_ms is not None),
            key=lambda asked: (asked.begun_ms, asked.uid),
        )
        for asked in there:
            places = self._where_it_ran(asked) or self._floor.place(asked.pods)
            if places is None:
                self._at(from_ms, _COMES, Waits(asked, from_ms))
            else:
                self._bound(asked, places, asked.begun_ms or 0, 0)
        for story in stories:
            if story.asked.begun_ms is None:
                self._at(max(from_ms, story.asked.asked_ms), _COMES, Waits(story.asked, story.asked.asked_ms))
        self._at(from_ms, _LOOKS, None)

    def _where_it_ran(self, asked: Asked) -> Places | None:
        places: list[tuple[int, tuple[tuple[int, int], ...]]] = []
        for node, parts in zip(asked.nodes, asked.pods, strict=True):
            place = self._floor.place_on(node, parts)
            if place is None:
                self._floor.give(places)
                return None
            self._floor.take((place,))
            places.append(place)
        return tuple(places)

    def _at(self, at_ms: int, what: int, about: _About) -> None:
        heappush(self._events, (at_ms, what, next(self._number), about))

    def _note(self, at_ms: int) -> None:
        self.books.until(at_ms, self._standing.held, self._queue.parts, self._floor)

    def _happens(self, event: _Event) -> None:
        at_ms, _, _, about = event
        if isinstance(about, Waits):
            self._queue.add(about)
        elif isinstance(about, Turn):
            self._turns(about)
        elif isinstance(about, Stay):
            if not about.over:
                self._leaves(about, at_ms, "done")
        elif isinstance(about, tuple):
            self._is_idle(about[0], about[1], at_ms)

    def _turns(self, turn: Turn) -> None:
        self._floor.turn(turn.node, is_open=turn.open)
        if not turn.gone:
            return
        machine = self._floor.numbers[turn.node]
        for stay in [stay for stays in self._running.values() for stay in stays]:
            if any(number == machine for number, _ in stay.places):
                self._leaves(stay, turn.at_ms, "lost")
                self._queue.add(Waits(stay.asked, turn.at_ms, stay.before_ms))

    def _is_idle(self, stay: Stay, ends_into_ms: int, at_ms: int) -> None:
        """It is taken because it stands idle, and asks again when it computed again; or limits have it later."""
        returns_ms = stay.begun_ms + ends_into_ms - stay.before_ms
        if stay.over or at_ms >= returns_ms:
            return
        stops = [(stay.asked.team, stay.asked.parts)]
        until_ms = self._limits.wait_until_ms(stops, at_ms, self._floor.capacity_parts)
        if until_ms is None:
            return
        if until_ms > at_ms:
            self._at(until_ms, _IDLES, (stay, ends_into_ms))
            return
        self._limits.take(stops, at_ms)
        self._leaves(stay, at_ms, "idle")
        if returns_ms < stay.ends_ms:
            self._at(returns_ms, _COMES, Waits(stay.asked, returns_ms, ends_into_ms))

    def _served(self, at_ms: int) -> bool:
        """Serve those who wait; whether somebody gave way, so that it has to be looked again."""
        lines = list(self._queue.lines())
        if not lines:
            return False
        if self._contested:
            self._standing = self._divided(self._standing.held, self._queue.parts)
        gave, delayed = self._owners(lines, at_ms)
        if not gave and not delayed:
            self._borrowers(lines, at_ms)
        return gave

    def _owners(self, lines: Sequence[Line], at_ms: int) -> tuple[bool, bool]:
        """Serve whom a guarantee covers: whether anybody gave way; whether one waits for a minimum runtime."""
        gave = delayed = False
        heads = [(first.turn, number) for number, line in enumerate(lines) if (first := line.first())]
        heapify(heads)
        while heads:
            line = lines[heappop(heads)[1]]
            waits = line.first()
            if waits is None or waits.asked.parts > self._standing.claim(line.team)[0]:
                continue
            places = self._room(line.pods)
            if places is None and self._terms.takes:
                ripe_ms = self._gives_way(waits, at_ms)
                gave |= ripe_ms == at_ms
                delayed |= ripe_ms is not None and ripe_ms > at_ms
                places = self._room(line.pods) if ripe_ms == at_ms else None
            if places is None:
                continue
            self._starts(line, waits, places, at_ms)
            following = line.first()
            if following is not None:
                heappush(heads, (following.turn, lines.index(line)))
        return gave, delayed

    def _borrowers(self, lines: Sequence[Line], at_ms: int) -> None:
        of_team: dict[str, list[Line]] = {}
        for line in lines:
            if line.preemptible and line.first(at_ms) is not None:
                of_team.setdefault(line.team, []).append(line)
        turns = [(self._turn_of(team), team) for team in of_team]
        heapify(turns)
        while turns:
            _, team = heappop(turns)
            if self._one_borrows(team, of_team[team], at_ms):
                heappush(turns, (self._turn_of(team), team))

    def _turn_of(self, team: str) -> tuple[int, Fraction]:
        promise = self._standing.promise(team)
        above = self._standing.held.get(team, 0) - promise.guaranteed_parts + promise.remembered_parts
        return -self._terms.policy.priority_of(team, self._pool), Fraction(above, promise.weight)

    def _one_borrows(self, team: str, lines: Sequence[Line], at_ms: int) -> bool:
        room_below_limit = self._standing.room_below_limit(team)
        heads = [(waits, line) for line in lines if (waits := line.first(at_ms)) is not None]
        for waits, line in sorted(heads, key=lambda head: head[0].turn):
            if room_below_limit is not None and waits.asked.parts > room_below_limit:
                continue
            places = self._room(line.pods)
            if places is not None:
                self._starts(line, waits, places, at_ms)
                return True
        return False

    def _room(self, pods: tuple[int, ...]) -> Places | None:
        """Where they fit; it is taken. What found no room finds none before something is given back."""
        if self._full.get(pods) == self._floor.given:
            return None
        places = self._floor.place(pods)
        if places is None:
            self._full[pods] = self._floor.given
        return places

    def _gives_way(self, waits: Waits, at_ms: int) -> int | None:
        """When borrowers give way to it: at once, and they did; later; or never (None)."""
        candidates = self._takings.candidates(waits.asked, self._standing, at_ms)
        ripe_from_ms = at_ms - self._terms.policy.minimum_runtime_ms
        ripe = [each for each in candidates if each.tier == 1 or each.stay.begun_ms <= ripe_from_ms]
        owner, pods = waits.asked.team, waits.asked.pods
        chosen = choose(pods, owner, ripe, self._floor, self._standing)
        if chosen is None:
            if (
                len(ripe) == len(candidates)
                or choose(pods, owner, candidates, self._floor, self._standing) is None
            ):
                return None
            young = [each.stay.begun_ms for each in candidates if each not in ripe]
            ripe_ms = min(young) + self._terms.policy.minimum_runtime_ms
            self._at(ripe_ms, _LOOKS, None)
            return ripe_ms
        stops = [(each.stay.asked.team, each.stay.asked.parts) for each in chosen]
        until_ms = self._limits.wait_until_ms(stops, at_ms, self._floor.capacity_parts)
        if until_ms is None:
            return None
        if until_ms > at_ms:
            self._at(until_ms, _LOOKS, None)
            return None
        self._limits.take(stops, at_ms)
        for each in chosen:
            stay = each.stay
            self._leaves(stay, at_ms, "preempted")
            rests_until_ms = self._takings.note(stay.asked, waits.asked, at_ms)
            self._queue.add(Waits(stay.asked, at_ms, stay.before_ms, rests_until_ms))
            self._at(rests_until_ms, _LOOKS, None)
        return at_ms

    def _starts(self, line: Line, waits: Waits, places: Places, at_ms: int) -> None:
        self._queue.remove(line, waits)
        self._stories[waits.asked.uid].waited_ms += at_ms - waits.since_ms
        self._bound(waits.asked, places, at_ms, waits.before_ms)

    def _bound(self, asked: Asked, places: Places, at_ms: int, before_ms: int) -> None:
        stay = Stay(asked, at_ms, places, before_ms)
        self._running[asked.team][stay] = None
        self._standing.held[asked.team] += asked.parts
        self._at(stay.ends_ms, _ENDS, stay)
        for due_ms, ends_into_ms in self._terms.due_ms(asked, at_ms, before_ms):
            self._at(due_ms, _IDLES, (stay, ends_into_ms))

    def _leaves(self, stay: Stay, at_ms: int, how: str) -> None:
        stay.over = True
        del self._running[stay.asked.team][stay]
        self._floor.give(stay.places)
        self._standing.held[stay.asked.team] -= stay.asked.parts
        self._tell(stay, at_ms, how)

    def _tell(self, stay: Stay, at_ms: int, how: str) -> None:
        self._stories[stay.asked.uid].runs.append(Run(stay.begun_ms, at_ms, how, stay.before_ms))

    @property
    def _contested(self) -> bool:
        """Whether what a guarantee covers depends on who asks: more is promised than there is, or to a department."""
        return any(
            each.guaranteed_parts for each in self._terms.policy.departments if each.pool == self._pool
        ) or (sum(each.guaranteed_parts for each in self._promises.values()) > self._floor.capacity_parts)

    def _divided(self, held: dict[str, int], asks: Mapping[str, int]) -> Standing:
        """Everybody's standing. Where guarantees fit, each is assured of its own, whoever asks for how much."""
        free_parts = self._floor.free_parts
        reading = Reading(free_parts, held, dict(asks), self._promises, self._sizes)
        standing = standing_of(self._pool, reading, self._terms.policy)
        standing.held = held
        return standing
