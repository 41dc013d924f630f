"""The diary: habits and services turned into a span's workloads by seed."""

import math
from collections.abc import Callable, Iterator
from random import Random

from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from simulator import behaviour
from simulator.behaviour import Behaviour
from simulator.habits import HABITS, SERVICES, Habit, Service
from simulator.workloads import Pull, WorkloadPlan

# A person is a pseudonym in a bill, so a notebook is called after what it is for, not after whose it is.
_TOPICS = ("ablation", "debug", "drafts", "eda", "labels", "metrics", "plots", "probe", "scratch", "sweep")
_PEOPLE = ("ada", "ben", "chen", "dara", "eli", "fay", "gus", "hana", "ivo", "jun")

_LEFT_ON = 0.15  # of the trainings
_SMALL = 0.5  # of the full pool: where there is no more, pods ask for half


def plans(seed: int, start_ms: int, end_ms: int, size: Callable[[str], float]) -> list[WorkloadPlan]:
    """All workloads of the span in order of submission. `size` gives a pool's size; the full demo's is 1.

    A smaller pool is asked less often; what it cannot hold at all is asked for in its own measure.
    """
    found: list[WorkloadPlan] = []
    for number, habit in enumerate(HABITS):
        found += _occurrences(habit, Random(f"{seed}/habit/{number}"), start_ms, end_ms, size(habit.pool))
    for number, service in enumerate(SERVICES):
        found += _service(service, Random(f"{seed}/service/{number}"), start_ms, end_ms, size(service.pool))
    found += _mishaps(Random(f"{seed}/mishaps"), start_ms, end_ms)
    return sorted(found, key=lambda plan: (plan.submit_ms, plan.namespace, plan.name))


def _occurrences(
    habit: Habit, random: Random, start_ms: int, end_ms: int, size: float
) -> Iterator[WorkloadPlan]:
    if not size:
        return
    every_ms = habit.every_h * HOUR_MS / size * _slots(habit, size) / habit.slots
    at = start_ms - random.uniform(0, every_ms * 0.8)  # so that the span does not start empty
    number = 0
    while at < end_ms:
        number += 1
        submit = (
            start_ms + random.randrange(10 * MINUTE_MS)
            if at < start_ms
            else _awake(int(at), random, not habit.always)
        )
        if submit < end_ms:
            yield _one(habit, random, submit, number, size)
        at += random.expovariate(1 / every_ms)


def _one(habit: Habit, random: Random, submit: int, number: int, size: float) -> WorkloadPlan:
    pods = max(1, round(habit.pods * min(1.0, size * 2))) if habit.gang or habit.pods > 1 else 1
    duration = int(habit.hours * HOUR_MS * math.exp(random.gauss(0, 0.6)))
    person = random.randrange(len(_PEOPLE))
    guild = "clim" if habit.team == "climate" else habit.team or "guest"
    user = f"{guild}-{_PEOPLE[person]}"
    stem = f"{habit.stem}-{guild}-{_TOPICS[person]}" if habit.kind == "Notebook" else habit.stem
    attempts, ends = (duration,), "succeeded" if habit.kind != "Notebook" else "deleted"
    if random.random() < habit.fails and habit.kind != "Notebook":
        attempts, ends = (
            tuple(random.randrange(6, 240) * SECOND_MS for _ in range(random.randint(2, 4))),
            "failed",
        )
    labels = [("app", habit.stem)] + ([("team", habit.team)] if habit.labelled else [])
    return WorkloadPlan(
        submit_ms=submit,
        kind=habit.kind,
        namespace=habit.namespace,
        name=f"{stem}-{number}",
        team=habit.team,
        user=user,
        pool=habit.pool,
        resource=habit.resource,
        slots_a_pod=_slots(habit, size),
        pods=pods,
        behaviour=_behaviour(habit, random, duration),
        attempts_ms=attempts,
        gang=habit.gang,
        priority=0 if habit.preemptible else 50,
        preemptible=habit.preemptible,
        pull=Pull(random.randrange(3, 150) * SECOND_MS),
        ends=ends,
        labels=tuple(labels),
        experiment=f"{habit.stem}-{number // 4}" if habit.behaves == "training" else "",
    )


def _slots(habit: Habit, size: float) -> int:
    """How much each pod asks for: half as much in a small pool."""
    return habit.slots if size > _SMALL else max(1, habit.slots // 2)


def _behaviour(habit: Habit, random: Random, duration: int) -> Behaviour:
    if habit.kind == "Notebook":
        return behaviour.notebook(
            random, int(duration * random.uniform(0.1, 0.45))
        )  # and then it is forgotten
    if habit.behaves == "batch":
        return behaviour.batch(random)
    if random.random() < habit.hangs:
        return behaviour.hung(random, int(duration * random.uniform(0.2, 0.6)))
    if random.random() < _LEFT_ON:
        return behaviour.left_on(random, int(duration * random.uniform(0.4, 0.9)))
    return behaviour.training(random)


def _service(
    service: Service, random: Random, start_ms: int, end_ms: int, size: float
) -> Iterator[WorkloadPlan]:
    pods = round(service.pods * size)
    if pods < 1:
        return
    span = end_ms - start_ms
    every = int(service.rollout_days * DAY_MS)
    yield WorkloadPlan(
        submit_ms=start_ms + random.randrange(MINUTE_MS),
        kind=service.kind,
        namespace=service.namespace,
        name=service.name,
        team=service.team,
        user=f"{service.team}-deploy",
        pool=service.pool,
        resource=service.resource,
        slots_a_pod=1,
        pods=pods,
        behaviour=behaviour.server(random),
        attempts_ms=(*(every for _ in range(span // every)), span + DAY_MS),
        priority=100,
        preemptible=False,
        pull=Pull(random.randrange(30, 240) * SECOND_MS),
        ends="deleted",
        labels=(("app", service.name),),
    )


def _mishaps(random: Random, start_ms: int, end_ms: int) -> Iterator[WorkloadPlan]:
    """Images that never come: the GPUs are held, and nothing starts until somebody looks."""
    at = start_ms + random.uniform(0.1, 0.6) * min(DAY_MS, end_ms - start_ms)
    number = 0
    while at < end_ms:
        number += 1
        yield WorkloadPlan(
            submit_ms=int(at),
            kind="Deployment",
            namespace="speech-lab",
            name=f"diarize-v{number}",
            team="speech",
            user=f"speech-{random.choice(_PEOPLE)}",
            pool="research",
            resource="gpu",
            slots_a_pod=1,
            pods=1,
            behaviour=behaviour.server(random),
            attempts_ms=(random.randrange(3, 15) * HOUR_MS,),
            priority=100,
            pull=Pull(None),
            ends="deleted",
            labels=(("app", "diarize"),),
        )
        at += random.expovariate(1 / (3 * DAY_MS))


def _awake(at_ms: int, random: Random, working_hours: bool) -> int:
    """The instant, or, for people, the same moment moved into their next working hours."""
    hour, weekday = at_ms % DAY_MS // HOUR_MS, (at_ms // DAY_MS + 3) % 7
    if not working_hours or (weekday < 5 and 7 <= hour < 19):
        return at_ms
    if random.random() < 0.2:
        return at_ms  # somebody always works late
    days = 1 if hour >= 7 else 0
    while (weekday + days) % 7 >= 5:
        days += 1
    return (at_ms // DAY_MS + days) * DAY_MS + int(random.triangular(7, 19, 9) * HOUR_MS)
