"""What is worth doing: the few things that would save most, each with what it would save."""

from dataclasses import dataclass

from analytics.reports.figures import Amount, Report
from analytics.reports.legible import name
from quartermaster.parts import GPU_PARTS

_FREE = 0.05  # of capacity: below it, what nobody holds is what a fleet needs to breathe


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do: about what, what to do, and what it saves in a span like this one, at most."""

    about: str
    do: str
    saves: Amount
    team: str | None = None  # whose it is; None: nobody's


def worth_doing(report: Report, most: int = 3) -> tuple[Task, ...]:
    """The things that would save most: by cost where there are prices, else by time."""
    tasks = [
        Task(
            f"{name(row.workload.kind)} {name(row.workload.namespace)}/{name(row.workload.name)} of team "
            f"{name(row.workload.team)}",
            f"{row.advice[:1].upper()}{row.advice[1:]}",
            row.wasted,
            row.workload.team,
        )
        for row in report.idlest
    ]
    free = report.split.unallocated
    if report.whole and free.pms > _FREE * report.split.capacity.pms:
        gpus = free.pms / max(1, report.known_ms) / GPU_PARTS
        tasks.append(
            Task(
                f"The {gpus:,.1f} GPUs that on average nobody held",
                "Let teams that wait borrow them, or give back or switch off what is not needed.",
                free,
            )
        )
    order = sorted(
        tasks, key=lambda task: (-task.saves.cost, -task.saves.pms) if report.priced else (-task.saves.pms, 0)
    )
    return tuple(order[:most])
