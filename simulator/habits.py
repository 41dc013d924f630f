"""Habits: how often each team asks for what, turned into a span's workloads by seed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from simulator import behaviour
from simulator.behaviour import Behaviour
from simulator.workloads import Pull, WorkloadPlan

_PEOPLE = ("ada", "ben", "chen", "dara", "eli", "fay", "gus", "hana", "ivo", "jun")


@dataclass(frozen=True)
class Habit:
    """Something a team does again and again: `every_h` hours on average, `hours` long (the median), in working hours or not."""

    team: str
    namespace: str
    stem: str
    kind: str
    pool: str
    every_h: float
    hours: float
    slots: int = 1
    pods: int = 1
    resource: str = "gpu"
    gang: bool = False
    working_hours: bool = True
    priority: int = 0
    preemptible: bool = True
    behaves: str = "training"  # training | batch | notebook
    fails: float = 0.06
    hangs: float = 0.0
    label_team: bool = False


@dataclass(frozen=True)
class Service:
    """A model server that runs all the span, with a roll-out now and then."""

    team: str
    namespace: str
    name: str
    kind: str
    pool: str
    pods: int
    resource: str = "gpu"
    rollout_days: float = 3.2


HABITS = (
    Habit(
        "language",
        "language-train",
        "pretrain",
        "PyTorchJob",
        "training",
        15,
        11,
        8,
        2,
        gang=True,
        priority=50,
        hangs=0.08,
    ),
    Habit("language", "language-train", "finetune", "PyTorchJob", "training", 9, 6, 8, priority=50),
    Habit("language", "language-exp", "ablation", "Job", "training", 5, 3, 2, behaves="training"),
    Habit("vision", "vision-train", "detector", "Job", "training", 6, 8, 8, working_hours=False, hangs=0.05),
    Habit("vision", "vision-sweep", "sweep", "Job", "training", 8, 2.5, 1, 8, working_hours=False),
    Habit("vision", "vision-train", "segment", "Job", "research", 9, 6, 4),
    Habit(
        "recommend",
        "recommend-train",
        "nightly",
        "Job",
        "training",
        24,
        4,
        8,
        priority=50,
        preemptible=False,
        working_hours=False,
    ),
    Habit("genomics", "bio-assembly", "fold", "Job", "training", 11, 3, 1, 6, behaves="batch"),
    Habit("genomics", "bio-assembly", "align", "Job", "research", 4, 1.5, 1, 6, behaves="batch", fails=0.12),
    Habit(
        "climate",
        "climate-model",
        "ensemble",
        "PyTorchJob",
        "training",
        10,
        7,
        8,
        2,
        gang=True,
        working_hours=False,
    ),
    Habit("speech", "speech-lab", "asr", "Job", "research", 5, 7, 2, hangs=0.15),
    Habit(
        "evaluation",
        "platform-eval",
        "score",
        "Job",
        "research",
        1.5,
        0.4,
        behaves="batch",
        resource="mig-1g.10gb",
        working_hours=False,
    ),
    Habit(
        "evaluation",
        "platform-eval",
        "smoke",
        "Job",
        "notebooks",
        1.2,
        0.02,
        behaves="batch",
        working_hours=False,
        fails=0.2,
    ),
    Habit("", "sandbox", "try", "Job", "research", 9, 5, 1),
    Habit("", "default", "test", "Job", "notebooks", 12, 9, 1, hangs=0.1),
    Habit("vision", "vision-lab", "notebook", "Notebook", "research", 16, 30, behaves="notebook"),
    Habit(
        "speech",
        "speech-lab",
        "notebook",
        "Notebook",
        "research",
        14,
        26,
        resource="mig-2g.20gb",
        behaves="notebook",
    ),
    Habit(
        "language",
        "shared-notebooks",
        "notebook",
        "Notebook",
        "notebooks",
        7,
        14,
        behaves="notebook",
        label_team=True,
    ),
    Habit(
        "vision",
        "shared-notebooks",
        "notebook",
        "Notebook",
        "notebooks",
        8,
        20,
        behaves="notebook",
        label_team=True,
    ),
    Habit(
        "genomics",
        "shared-notebooks",
        "notebook",
        "Notebook",
        "notebooks",
        9,
        12,
        resource="shared",
        behaves="notebook",
        label_team=True,
    ),
    Habit(
        "speech",
        "shared-notebooks",
        "notebook",
        "Notebook",
        "notebooks",
        7,
        12,
        resource="shared",
        behaves="notebook",
        label_team=True,
    ),
    Habit(
        "climate",
        "shared-notebooks",
        "notebook",
        "Notebook",
        "notebooks",
        10,
        16,
        resource="shared",
        behaves="notebook",
    ),
)
SERVICES = (
    Service("search", "search-prod", "ranker", "Deployment", "serving", 5),
    Service("search", "search-prod", "embedder", "InferenceService", "serving", 2),
    Service("recommend", "recommend-prod", "retrieval", "Deployment", "serving", 4),
    Service("recommend", "recommend-prod", "canary", "Deployment", "serving", 1, rollout_days=0.8),
    Service("evaluation", "platform-eval", "judge", "InferenceService", "research", 1, "mig-3g.40gb"),
    Service("speech", "speech-lab", "transcribe", "StatefulSet", "research", 1, "mig-1g.10gb"),
)


def plans(seed: int, start_ms: int, end_ms: int, size: Callable[[str], float]) -> list[WorkloadPlan]:
    """All workloads of the span in order of submission. `size` gives a pool's size, 1.0 being the full demo's.

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
    every_ms = habit.every_h * HOUR_MS / max(size, 0.1)
    at = start_ms - random.uniform(0, every_ms * 0.8)  # so that the span does not start empty
    number = 0
    while at < end_ms:
        number += 1
        submit = (
            start_ms + random.randrange(10 * MINUTE_MS)
            if at < start_ms
            else _awake(int(at), random, habit.working_hours)
        )
        if submit < end_ms:
            yield _one(habit, random, submit, number, size)
        at += random.expovariate(1 / every_ms)


def _one(habit: Habit, random: Random, submit: int, number: int, size: float) -> WorkloadPlan:
    pods = max(1, round(habit.pods * min(1.0, size * 2))) if habit.gang or habit.pods > 1 else 1
    duration = int(habit.hours * HOUR_MS * math.exp(random.gauss(0, 0.6)))
    user = f"{'clim' if habit.team == 'climate' else habit.team or 'guest'}-{random.choice(_PEOPLE)}"
    stem = f"{habit.stem}-{user.rpartition('-')[2]}" if habit.kind == "Notebook" else habit.stem
    attempts, ends = (duration,), "succeeded" if habit.kind != "Notebook" else "deleted"
    if random.random() < habit.fails and habit.kind != "Notebook":
        attempts, ends = (
            tuple(random.randrange(6, 240) * SECOND_MS for _ in range(random.randint(2, 4))),
            "failed",
        )
    labels = [("app", habit.stem)] + ([("team", habit.team)] if habit.label_team else [])
    return WorkloadPlan(
        submit_ms=submit,
        kind=habit.kind,
        namespace=habit.namespace,
        name=f"{stem}-{number}",
        team=habit.team,
        user=user,
        pool=habit.pool,
        resource=habit.resource,
        slots_a_pod=habit.slots,
        pods=pods,
        behaviour=_behaviour(habit, random, duration),
        attempts_ms=attempts,
        gang=habit.gang,
        priority=habit.priority,
        preemptible=habit.preemptible,
        pull=Pull(random.randrange(3, 150) * SECOND_MS),
        ends=ends,
        labels=tuple(labels),
        experiment=f"{habit.stem}-{number // 4}" if habit.behaves == "training" else "",
    )


def _behaviour(habit: Habit, random: Random, duration: int) -> Behaviour:
    if habit.behaves == "notebook":
        return behaviour.notebook(
            random, int(duration * random.uniform(0.1, 0.45))
        )  # and then it is forgotten
    if habit.behaves == "batch":
        return behaviour.batch(random)
    if random.random() < habit.hangs:
        return behaviour.hung(random, int(duration * random.uniform(0.2, 0.6)))
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
