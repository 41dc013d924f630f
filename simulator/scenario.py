"""Scenarios: whole clusters with their teams and a span of work, ready to run."""

from simulator.cluster import ClusterSimulation


def demo(seed: int, start_ms: int, end_ms: int, *, quick: bool = False) -> ClusterSimulation:
    """The demo's cluster: 104 GPUs (quick: 28) in four pools, eight teams and a span of their work, told by `seed` alone."""
    raise NotImplementedError
