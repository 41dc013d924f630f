"""Scenarios: whole clusters with their teams and a span of work, ready to run."""

from quartermaster.errors import InputError
from simulator import diary, faults, teams
from simulator.cluster import Script
from simulator.fleet import NodePlan, build
from simulator.models import A100, H100, L40S, T4
from simulator.simulation import ClusterSimulation

CLUSTER = "demo"
GENERATIONS = {"training": "4.9", "research": "4.5", "serving": "4.0", "notebooks": "4.4"}
_CARVED = (("3g.40gb", "2g.20gb", "1g.10gb"), ("1g.10gb",) * 7, ("3g.40gb", "3g.40gb"), ("2g.20gb",) * 3)


def demo(seed: int, start_ms: int, end_ms: int, *, quick: bool = False) -> ClusterSimulation:
    """The demo: 104 GPUs (quick: 44) in four pools, eight teams and a span of their work, told by `seed`.

    Raises InputError for a span that ends before it starts.
    """
    if end_ms <= start_ms:
        raise InputError("the simulated span ends before it starts")
    plans = _nodes(quick=quick)
    fleet = build(CLUSTER, plans, seed)
    full, have = _pool_sizes(_nodes(quick=False)), _pool_sizes(plans)
    resources = {(machine.plan.pool, slot.resource) for machine in fleet.machines for slot in machine.slots()}
    workloads = [
        plan
        for plan in diary.plans(seed, start_ms, end_ms, lambda pool: have.get(pool, 0) / full[pool])
        if (plan.pool, plan.resource) in resources
    ]
    script = Script(
        fleet=fleet,
        workloads=workloads,
        faults=faults.plans(seed, fleet, start_ms, end_ms),
        promises=teams.promises(have, full),
        rules=teams.RULES,
        seed=seed,
        start_ms=start_ms,
    )
    return ClusterSimulation(script, GENERATIONS, end_ms)


def _nodes(*, quick: bool) -> list[NodePlan]:
    h100, a100, l40s, t4 = (3, 1, 1, 2) if quick else (6, 3, 4, 4)
    carved = (*(() for _ in range(8 - len(_CARVED))), *_CARVED)
    return [
        *(NodePlan(f"h100-{n}", "training", H100, 8) for n in range(h100)),
        *(
            NodePlan(f"a100-{n}", "research", A100, 8, mig=carved if n == a100 - 1 else ())
            for n in range(a100)
        ),
        *(
            NodePlan(f"l40s-{n}", "serving", L40S, 4, cpu_milli=64_000, memory_mib=524_288)
            for n in range(l40s)
        ),
        *(
            NodePlan(f"t4-{n}", "notebooks", T4, 4, replicas=4 if n >= t4 // 2 else 1, cpu_milli=64_000)
            for n in range(t4)
        ),
    ]


def _pool_sizes(plans: list[NodePlan]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for plan in plans:
        sizes[plan.pool] = sizes.get(plan.pool, 0) + plan.gpus
    return sizes
