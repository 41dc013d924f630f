"""The rules that no plan may break, each judged anew from the snapshot alone, without the planner's own arithmetic.

Rooms are counted node by node, pods are placed by trying, and choices are compared with all others that there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from zoneinfo import ZoneInfo

from enforcer.idleness import Findings, Idle
from enforcer.plan import Act, Action, Balance, Cause, Plan, Verdict
from enforcer.shape import Shape, allowed
from enforcer.snapshot import Snapshot, Waiting, Workload
from quartermaster.clock import to_datetime
from quartermaster.config.policy import PolicyPart
from quartermaster.team import glob_matches

Room = dict[str, dict[str, int]]
Placed = tuple[Waiting, tuple[tuple[str, int], ...]]


def broken(
    snapshot: Snapshot, findings: Findings, policy: PolicyPart, made: Plan, zone: ZoneInfo
) -> Iterator[str]:
    """Every rule that the plan breaks, in words."""
    court = Court(snapshot, findings, policy, made, zone)
    if not 0 <= snapshot.at_ms - snapshot.seen_at_ms <= policy.behind_ms and made.actions:
        yield "rule 7: there are actions on a stale picture"
    for action in made.actions:
        if not action.why or not any(sign.isdigit() for sign in "".join(action.why)):
            yield f"rule 6: {action.target.uid} is not explained in numbers"
        yield from court.whole_gang(action)
        if action.act is Act.STOP and action.cause is Cause.OWNER:
            yield from court.victim(action)
        elif action.act in {Act.STOP, Act.WARN}:
            yield from court.idle(action)
        elif action.act is Act.START:
            yield from court.start(action)
        else:
            yield from court.hold(action)
    yield from court.budgets()
    yield from court.groups()
    yield from court.answers()


@dataclass
class Moment:
    """The cluster when it is an owner's turn: what everybody holds, who is gone, who has been given a place."""

    held: dict[tuple[str, str], int]
    gone: set[str] = field(default_factory=set[str])
    placed: list[Placed] = field(default_factory=list[Placed])


class Court:
    """Judges one plan."""

    def __init__(
        self, snapshot: Snapshot, findings: Findings, policy: PolicyPart, made: Plan, zone: ZoneInfo
    ) -> None:
        self.snapshot, self.findings, self.policy, self.made, self.zone = (
            snapshot,
            findings,
            policy,
            made,
            zone,
        )
        self.workloads = {each.uid: each for each in snapshot.workloads}
        self.waiting = {each.uid: each for each in snapshot.waiting}
        self.found = {each.uid: each for each in findings.idle}
        self.held: dict[tuple[str, str], int] = {}
        for each in snapshot.workloads:
            key = each.pool, each.team
            self.held[key] = self.held.get(key, 0) + _held(each)
        self.promises = {(each.pool, each.team): each for each in snapshot.promises}
        self.stops = [each for each in made.actions if each.act is Act.STOP]
        self.forgotten = {each.target.uid for each in self.stops if each.cause is Cause.IDLE}

    # Whom, and whether at all (rules 7, 8)

    def whole_gang(self, action: Action) -> Iterator[str]:
        """Exactly the pods that are there and stay."""
        workload = self.workloads.get(action.target.uid)
        if action.act is Act.STOP and workload is not None:
            staying = sorted((pod.uid, pod.version, pod.node) for pod in workload.pods if not pod.terminating)
            if list(action.target.pods) != staying or not staying:
                yield f"rule 9: {workload.uid} is not taken whole"

    def victim(self, action: Action) -> Iterator[str]:
        """Taken for an owner: only from a borrower, only what may be taken, only after its minimum runtime."""
        workload, owner = self.workloads[action.target.uid], self.waiting[action.for_uid]
        name = f"{workload.uid} for {owner.uid}"
        if workload.team == owner.team or workload.uid == owner.uid:
            yield f"rule 8: {name}: the team takes from itself"
        if not self.may_be_taken(workload):
            yield f"rules 8, 11: {name}: it may not be taken"
        if self.snapshot.queues_reclaim and not self.is_idle(workload):
            yield f"{name}: the queue system takes it back by itself"
        if not workload.preemptible:
            yield f"rule 8: {name}: it is not preemptible"
        begun = min(
            pod.bound_at_ms if pod.started_at_ms is None else pod.started_at_ms for pod in workload.pods
        )
        if self.snapshot.at_ms - begun < self.policy.minimum_runtime_ms and not self.is_idle(workload):
            yield f"rule 8: {name}: it is too young"
        if any(
            each.for_uid == owner.uid
            and not (each.in_vain or each.short)
            and max(owner.since_ms, self.snapshot.at_ms - self.policy.watch_ms + 1) <= each.at_ms
            for each in self.snapshot.takings
        ):
            yield f"rule 9: {name}: what was freed for its owner is still watched"
        if self.took(workload.uid, owner.uid):
            yield f"rule 9: {name}: that closes a circle"

    def idle(self, action: Action) -> Iterator[str]:
        """Acted upon for idleness alone."""
        workload = self.workloads[action.target.uid]
        if not self.is_idle(workload):
            yield f"rule 7: {workload.uid} is not idle beyond doubt"
        due = self.stage(workload)
        if due != (action.stage or "take"):
            yield f"ladder: {workload.uid} is due {due or 'nothing'}, not {action.stage or 'take'}"
        if action.act is Act.STOP and not self.may_be_taken(workload):
            yield f"rules 8, 11: {workload.uid} may not be taken"

    def start(self, action: Action) -> Iterator[str]:
        """Started: only what is held back; beyond the guarantee only what may borrow, within the fair share."""
        each = self.waiting[action.target.uid]
        if not each.held_back or self.snapshot.queues_order:
            yield f"{each.uid} is not ours to start"
        if action.cause is Cause.ENTITLED:
            if not each.preemptible:
                yield f"rule 8: {each.uid} is not preemptible and borrows"
            after = {b.team: b for b in self.made.balances if b.pool == each.pool}
            promise = self.promises.get((each.pool, each.team))
            limit = promise.limit_parts if promise else None
            if limit is not None and after[each.team].held_after_parts > limit:
                yield f"{each.team} holds more than its limit after the start of {each.uid}"
            if after[each.team].held_after_parts > after[each.team].fair_parts:
                yield from self.nobody_within_its_share(each, after)
            gave = [taking.at_ms for taking in self.snapshot.takings if taking.uid == each.uid]
            if gave and self.snapshot.at_ms < max(gave) + self.policy.back_off_ms:
                yield f"rule 9: {each.uid} is started within its back-off"
            delays = {Verdict.YOUNG, Verdict.WATCHED}
            if any(a.pool == each.pool and a.verdict in delays for a in self.made.answers):
                yield f"rule 8: {each.uid} is started while an owner waits"

    def nobody_within_its_share(self, started: Waiting, after: Mapping[str, Balance]) -> Iterator[str]:
        """Beyond a fair share only on what nobody within one could be started on."""
        for answer in self.made.answers:
            other = self.waiting[answer.uid]
            refused = answer.verdict is Verdict.ABOVE and answer.words.endswith("too little is")
            alike = len({shape for shape, _, _ in other.pods}) == 1
            if refused and alike and other.pool == started.pool and other.team != started.team:
                within = after[other.team].held_after_parts + other.parts <= after[other.team].fair_parts
                pods = [(shape, count) for shape, count, _ in other.pods]
                if within and self.fits_free(other, pods):
                    yield f"{started.uid} is started beyond its share, and {other.uid} within its own is not"

    def fits_free(self, other: Waiting, pods: Sequence[tuple[Shape, int]]) -> bool:
        """Whether it would fit what is free now, next to all that got a place but those beyond their shares."""
        beyond = {
            each.target.uid for each in self.made.actions if "nobody within a fair share" in "".join(each.why)
        }
        leaving = {each.uid for each in self.snapshot.workloads}
        placed = [
            (self.waiting[each.uid], each.places)
            for each in self.made.answers
            if each.uid not in beyond and each.places
        ]
        room = self.room(leaving, placed)
        for workload in self.snapshot.workloads:
            for pod in workload.pods:
                _move(room, pod.node, pod.shape, -1)
        running = self.workloads.get(other.uid)
        beside = [pod.node for pod in running.pods if not pod.terminating] if running else []
        free = {node: {key: max(0, value) for key, value in there.items()} for node, there in room.items()}
        return self._fits(other, [shape for shape, count in pods for _ in range(count)], free, beside, {})

    def hold(self, action: Action) -> Iterator[str]:
        """Held back: only what waits and can be."""
        each = self.waiting[action.target.uid]
        if each.held_back or not each.way_down or self.snapshot.queues_order:
            yield f"{each.uid} cannot be held back"

    def may_be_taken(self, workload: Workload) -> bool:
        """Nothing forbids it for good."""
        protected = self.policy.protected
        return not (
            workload.priority >= protected.priority_from
            or any(glob_matches(each, workload.namespace) for each in protected.namespaces)
            or not workload.way_down
            or workload.kind == "Pod"
            or any(len(pod.budgets) > 1 for pod in workload.pods)
            or any(taking.in_vain and taking.uid == workload.uid for taking in self.snapshot.takings)
            or not _held(workload)
        )

    def is_idle(self, workload: Workload) -> bool:
        """Idle beyond doubt, by rule 7."""
        found = self.found.get(workload.uid)
        at_ms = self.snapshot.at_ms
        return (
            found is not None
            and not found.doubts
            and bool(found.evidence)
            and workload.pool in self.findings.computing
            and all(
                each.known_permille >= 950
                and len(set(each.idle_by)) >= 2
                and not each.active_by
                and not each.frozen
                and at_ms - each.sampled_at_ms <= 2 * each.interval_ms
                for each in found.evidence
            )
            and all(
                pod.started_at_ms is not None and pod.started_at_ms + self.policy.grace_ms <= found.since_ms
                for pod in workload.pods
            )
        )

    def stage(self, workload: Workload) -> str:
        """What the ladder has for an idle workload."""
        found: Idle = self.found[workload.uid]
        at_ms = self.snapshot.at_ms
        kind = "serving" if workload.serving else workload.kind
        rule = next((r for r in self.policy.idle if any(glob_matches(k, kind) for k in r.kinds)), None)
        if rule is None or rule.warn_ms is None or at_ms < max(found.keep_until_ms, workload.spared_until_ms):
            return ""
        idle = at_ms - found.since_ms
        told = {each.stage: each.at_ms for each in found.notices if each.at_ms >= found.since_ms}
        again_ms, take_ms = rule.again_ms or 0, rule.take_ms or 0
        if "warn" not in told:
            return "warn" if idle >= rule.warn_ms else ""
        if "again" not in told:
            return "again" if idle >= again_ms and at_ms - told["warn"] >= again_ms - rule.warn_ms else ""
        local = to_datetime(at_ms).astimezone(self.zone)
        hours = self.policy.business_hours
        at_work = local.strftime("%a").lower() in hours.days and (
            hours.start_minute <= local.hour * 60 + local.minute < hours.end_minute
        )
        late = idle >= take_ms and at_ms - told["again"] >= take_ms - again_ms
        return "take" if late and (rule.in_business_hours or not at_work) else ""

    def took(self, taker: str, loser: str) -> bool:
        """Whether GPUs of the loser once went to the taker, by whatever way round."""
        reach, before = {taker}, 0
        while len(reach) != before:
            before = len(reach)
            reach |= {each.uid for each in self.snapshot.takings if each.for_uid in reach}
        return loser in reach - {taker} or (loser == taker)

    # How much (rules 8, 9)

    def budgets(self) -> Iterator[str]:
        """No PodDisruptionBudget is outranked."""
        allowed_by = {each.name: each.allowed for each in self.snapshot.budgets}
        wanted: dict[str, int] = {}
        for action in self.stops:
            for pod in self.workloads[action.target.uid].pods:
                if not pod.terminating:
                    for name in pod.budgets:
                        wanted[name] = wanted.get(name, 0) + 1
        for name, count in wanted.items():
            if count > allowed_by.get(name, 0):
                yield f"rule 8: {count} pods of budget {name} are taken"
        if len({action.target.uid for action in self.made.actions}) != len(self.made.actions):
            yield "one workload is acted upon twice"

    def groups(self) -> Iterator[str]:
        """Each owner in turn: what it may ask for, from whom, and the smallest harm."""
        now = Moment(dict(self.held))
        for action in self.stops:
            if action.cause is Cause.IDLE:  # taken before anybody is served
                victim = self.workloads[action.target.uid]
                now.gone.add(victim.uid)
                now.held[victim.pool, victim.team] -= _held(victim)
        turns = sorted(
            self.made.answers,
            key=lambda a: (-self.waiting[a.uid].priority, self.waiting[a.uid].since_ms, a.uid),
        )
        for answer in turns:
            owner = self.waiting[answer.uid]
            key = owner.pool, owner.team
            if answer.verdict in {Verdict.STARTED, Verdict.ABOVE}:
                continue
            group = [each for each in self.stops if each.for_uid == owner.uid]
            if (answer.verdict is Verdict.TAKEN) != bool(group):
                yield f"{owner.uid}: its verdict and its victims disagree"
            if group:
                if not self.covered(owner, now.held, answer.gains_parts):
                    yield f"rule 8: {owner.uid} takes beyond its guarantee"
                yield from self.lenders(owner, group, now.held)
                yield from self.smallest(owner, group, answer.gains_parts, now)
            now.gone |= {each.target.uid for each in group}
            for each in group:
                victim = self.workloads[each.target.uid]
                now.held[victim.pool, victim.team] -= _held(victim)
            now.held[key] = now.held.get(key, 0) + answer.gains_parts
            fresh = owner.held_back or self.snapshot.at_ms < owner.since_ms + self.policy.bind_wait_ms
            lately = any(
                each.for_uid == owner.uid and each.at_ms > self.snapshot.at_ms - self.policy.back_off_ms
                for each in self.snapshot.takings
            )
            if answer.verdict is not Verdict.FREE or fresh or lately:
                now.placed.append((owner, answer.places))

    def covered(self, owner: Waiting, held: dict[tuple[str, str], int], gains: int) -> bool:
        """Whether its own guarantee, or its department's, covers what it gets."""
        promise = self.promises.get((owner.pool, owner.team))
        if promise is None:
            return False
        if held.get((owner.pool, owner.team), 0) + gains <= promise.guaranteed_parts:
            return True
        stated = self.stated(promise.department, owner.pool)
        return bool(stated) and self.held_by(promise.department, owner.pool, held) + gains <= stated

    def lenders(
        self, owner: Waiting, group: Sequence[Action], held: dict[tuple[str, str], int]
    ) -> Iterator[str]:
        """Each is taken while its team borrows; from another department, while that borrows too."""
        if not self._in_turn(owner, group, dict(held)):
            yield f"rule 8: {owner.uid} takes what a team holds within its guarantee"

    def _in_turn(self, owner: Waiting, order: Sequence[Action], held: dict[tuple[str, str], int]) -> bool:
        for action in order:
            victim = self.workloads[action.target.uid]
            if not self.borrows(victim, owner, held):
                return False
            held[victim.pool, victim.team] -= _held(victim)
        return True

    def borrows(self, victim: Workload, owner: Waiting, held: dict[tuple[str, str], int]) -> bool:
        """Whether its team borrows, as the owner may see it."""
        key = victim.pool, victim.team
        promise, own = self.promises.get(key), self.promises.get((owner.pool, owner.team))
        if held[key] <= (promise.guaranteed_parts if promise else 0):
            return False
        department = promise.department if promise else ""
        stated = self.stated(department, victim.pool)
        if not self.has_terms(department, victim.pool) or (own is not None and department == own.department):
            return True
        covered = sum(
            min(held.get((each.pool, each.team), 0), each.guaranteed_parts)
            for each in self.snapshot.promises
            if (each.pool, each.department) == (victim.pool, department)
        )
        return self.held_by(department, victim.pool, held) > max(stated, covered)

    def has_terms(self, department: str, pool: str) -> bool:
        """Whether the policy names the department."""
        return any((each.department, each.pool) == (department, pool) for each in self.policy.departments)

    def stated(self, department: str, pool: str) -> int:
        """What the department itself is promised."""
        return next(
            (
                each.guaranteed_parts
                for each in self.policy.departments
                if (each.department, each.pool) == (department, pool)
            ),
            0,
        )

    def held_by(self, department: str, pool: str, held: dict[tuple[str, str], int]) -> int:
        """What the department's teams hold together."""
        return sum(
            held.get((each.pool, each.team), 0)
            for each in self.snapshot.promises
            if (each.pool, each.department) == (pool, department)
        )

    def smallest(self, owner: Waiting, group: Sequence[Action], gains: int, now: Moment) -> Iterator[str]:
        """It truly fits, by whatever order; nothing fits without it; and of all other choices none is smaller."""
        pods = _some(owner, gains)
        taken = {each.target.uid for each in group}
        if not self.fits(owner, pods, now.gone | taken, now.placed):
            yield f"rule 9: {owner.uid} does not fit what is taken for it"
        if self.fits(owner, pods, now.gone, now.placed):
            yield f"rule 9: {owner.uid} fits without anybody being taken"
        if len(pods) > 1:
            return
        among = [each for each in self.snapshot.workloads if self.could(each, owner, now.gone)]
        worst = max(self.tier(self.workloads[uid]) for uid in taken)
        for size in range(1, len(taken) + 1):
            for chosen in combinations(among, size):
                tier = max(self.tier(each) for each in chosen)
                less = size < len(taken) or self.lost(chosen) < self.lost(
                    [self.workloads[uid] for uid in taken]
                )
                smaller = tier < worst or (tier == worst and less)
                uids = {each.uid for each in chosen}
                if (
                    smaller
                    and self.together(chosen, owner, now.held)
                    and self.fits(owner, pods, now.gone | uids, now.placed)
                ):
                    yield f"rule 9: {owner.uid} could do with {sorted(uids)} instead of {sorted(taken)}"
                    return

    def lost(self, chosen: Sequence[Workload]) -> int:
        """The work that is lost with them, in part-milliseconds, since their starts or stated checkpoints."""
        at_ms, total = self.snapshot.at_ms, 0
        for workload in chosen:
            for pod in workload.pods:
                begun = pod.bound_at_ms if pod.started_at_ms is None else pod.started_at_ms
                saved = workload.checkpoint_at_ms or 0
                total += pod.parts * max(0, at_ms - (saved if begun < saved <= at_ms else begun))
        return total

    def could(self, each: Workload, owner: Waiting, gone: set[str]) -> bool:
        """Whether it might have been taken for this owner."""
        idle = self.is_idle(each)
        begun = min(pod.bound_at_ms if pod.started_at_ms is None else pod.started_at_ms for pod in each.pods)
        return (
            each.uid not in gone
            and each.pool == owner.pool
            and each.team != owner.team
            and self.may_be_taken(each)
            and (idle or not self.snapshot.queues_reclaim)
            and each.preemptible
            and (idle or self.snapshot.at_ms - begun >= self.policy.minimum_runtime_ms)
            and not self.took(each.uid, owner.uid)
        )

    def together(self, chosen: Sequence[Workload], owner: Waiting, held: dict[tuple[str, str], int]) -> bool:
        """Whether they may all be taken at once."""
        allowed_by = {each.name: each.allowed for each in self.snapshot.budgets}
        for action in self.stops:  # of the whole plan: what others spent is spent
            if action.for_uid != owner.uid:
                for name in _budgets(self.workloads[action.target.uid]):
                    allowed_by[name] = allowed_by.get(name, 0) - 1
        for each in chosen:
            for name in _budgets(each):
                allowed_by[name] = allowed_by.get(name, 0) - 1
        if any(count < 0 for count in allowed_by.values()):
            return False
        turn, left = dict(held), sorted(chosen, key=_held)
        for each in left:
            if not self.borrows(each, owner, turn):
                return False
            turn[each.pool, each.team] -= _held(each)
        return True

    def tier(self, each: Workload) -> int:
        """Idle before borrowed, borrowed before the rest of a borrower's, and last who is spared."""
        gave = [taking.at_ms for taking in self.snapshot.takings if taking.uid == each.uid]
        lately = bool(gave) and self.snapshot.at_ms < max(gave) + self.policy.back_off_ms
        if self.snapshot.at_ms < each.spared_until_ms or lately:
            return 5
        if self.is_idle(each):
            return 1
        theirs = [
            other
            for other in self.snapshot.workloads
            if (other.team, other.pool) == (each.team, each.pool) and other.uid not in self.forgotten
        ]
        theirs.sort(key=lambda one: (one.preemptible, min(pod.bound_at_ms for pod in one.pods), one.uid))
        before = sum(_held(other) for other in theirs[: theirs.index(each)])
        promise = self.promises.get((each.pool, each.team))
        guaranteed = promise.guaranteed_parts if promise else 0
        if before >= guaranteed:
            return 2
        return 3 if before + _held(each) > guaranteed else 4

    # Where (placing by trying)

    def room(self, gone: set[str], placed: Sequence[Placed]) -> Room:
        """What is free on each node once those who leave and those in `gone` have left, and others are placed."""
        room: Room = {
            node.name: {
                **dict(node.units),
                "cpu": node.cpu_milli,
                "memory": node.memory_mib,
                "pods": node.most_pods,
            }
            for node in (*self.snapshot.nodes, *(each.node for each in self.snapshot.coming))
        }
        for workload in self.snapshot.workloads:
            for pod in workload.pods:
                if not pod.terminating and workload.uid not in gone:
                    _move(room, pod.node, pod.shape, -1)
        for owner, places in placed:
            shapes = [shape for shape, count, _ in owner.pods for _ in range(count)]
            if len(set(shapes)) == 1:
                for node, count in places:
                    for _ in range(count):
                        _move(room, node, shapes[0], -1)
            else:  # in the order in which the plan names them
                todo = list(shapes)
                for node, count in places:
                    for _ in range(count):
                        _move(room, node, todo.pop(0), -1)
        return room

    def fits(
        self,
        owner: Waiting,
        pods: Sequence[tuple[Shape, int]],
        gone: set[str],
        placed: Sequence[Placed],
    ) -> bool:
        """Whether the pods fit however a scheduler places them, one after the other, each wherever it can."""
        room = self.room(gone, placed)
        running = self.workloads.get(owner.uid)
        beside = [pod.node for pod in running.pods if not pod.terminating] if running else []
        shapes = [shape for shape, count in pods for _ in range(count)]
        return self._fits(owner, shapes, room, beside, {})

    def _fits(
        self, owner: Waiting, shapes: list[Shape], room: Room, beside: list[str], known: dict[str, bool]
    ) -> bool:
        if not shapes:
            return True
        key = repr(
            (
                sorted(map(repr, shapes)),
                sorted((n, sorted(r.items())) for n, r in room.items()),
                sorted(beside),
            )
        )
        if key in known:
            return known[key]
        together = bool(shapes[0].together_on)
        outcomes: list[bool] = []
        for at, shape in enumerate(shapes):
            if shape in shapes[:at]:
                continue
            targets = [
                node for node in self.snapshot.nodes if self._takes(node.name, shape, owner, room, beside)
            ]
            if not targets:
                outcomes.append(False)
            for node in targets:
                _move(room, node.name, shape, -1)
                rest = shapes[:at] + shapes[at + 1 :]
                outcomes.append(self._fits(owner, rest, room, [*beside, node.name], known))
                _move(room, node.name, shape, 1)
                if outcomes[-1] == together:
                    break
        # A scheduler that looks for one domain finds it if there is one; any other way of placing must do.
        known[key] = any(outcomes) if together else all(outcomes)
        return known[key]

    def _takes(self, name: str, shape: Shape, owner: Waiting, room: Room, beside: list[str]) -> bool:
        node = next(each for each in self.snapshot.nodes if each.name == name)
        nodes = {each.name: each for each in self.snapshot.nodes}
        bound = shape.apart_on or shape.together_on
        values = {nodes[other].labels.get(bound) for other in beside if other in nodes}
        return (
            node.pool == owner.pool
            and node.ready
            and node.schedulable
            and allowed(shape, node.name, node.labels, node.taints)
            and all(room[name].get(unit, 0) >= count for unit, count in shape.units)
            and (not shape.cpu_milli or room[name]["cpu"] >= shape.cpu_milli)
            and (not shape.memory_mib or room[name]["memory"] >= shape.memory_mib)
            and room[name]["pods"] >= 1
            and (not bound or bound in node.labels)
            and not (shape.apart_on and node.labels.get(bound) in values)
            and not (shape.together_on and values and values != {node.labels.get(bound)})
        )

    # What becomes of those who wait

    def answers(self) -> Iterator[str]:
        """Everybody who waits for GPUs is answered; an owner is refused only where truly nothing does."""
        asked = {each.uid for each in self.snapshot.waiting if each.parts}
        stale = not 0 <= self.snapshot.at_ms - self.snapshot.seen_at_ms <= self.policy.behind_ms
        if not stale and {each.uid for each in self.made.answers} != asked:
            yield "somebody who waits is not answered"
        if len(self.made.answers) != 1:
            return
        (answer,) = self.made.answers
        owner = self.waiting[answer.uid]
        if answer.verdict is not Verdict.NONE_FITS or len({shape for shape, _, _ in owner.pods}) > 1:
            return
        gone = {each.target.uid for each in self.stops}
        held = dict(self.held)
        for uid in gone:
            held[self.workloads[uid].pool, self.workloads[uid].team] -= _held(self.workloads[uid])
        among = [each for each in self.snapshot.workloads if self.could(each, owner, gone)]
        each_parts = owner.pods[0][2]
        pods = _some(owner, each_parts * max(1, owner.gang_minimum - self._running(owner)))
        for size in range(len(among) + 1):
            for chosen in combinations(among, size):
                uids = {each.uid for each in chosen}
                if self.together(chosen, owner, held) and self.fits(owner, pods, gone | uids, ()):
                    yield f"rule 8: {owner.uid} is refused, though {sorted(uids)} would do"
                    return

    def _running(self, owner: Waiting) -> int:
        workload = self.workloads.get(owner.uid)
        return sum(not pod.terminating for pod in workload.pods) if workload else 0


def _some(owner: Waiting, parts: int) -> list[tuple[Shape, int]]:
    """As many of its pods as the parts are."""
    if len({shape for shape, _, _ in owner.pods}) > 1:
        return [(shape, count) for shape, count, _ in owner.pods]
    shape, _, each = owner.pods[0]
    return [(shape, min(owner.count, parts // each))]


def _held(workload: Workload) -> int:
    return sum(pod.parts for pod in workload.pods if not pod.terminating)


def _budgets(workload: Workload) -> list[str]:
    return [name for pod in workload.pods if not pod.terminating for name in pod.budgets]


def _move(room: Room, node: str, shape: Shape, pods: int) -> None:
    if node in room:
        amounts = [*shape.units, ("cpu", shape.cpu_milli), ("memory", shape.memory_mib), ("pods", 1)]
        for name, amount in amounts:
            room[node][name] = room[node].get(name, 0) + pods * amount
