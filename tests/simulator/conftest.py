"""A simulated cluster that several test files look at."""

import pytest

from quartermaster.clock import DAY_MS, HOUR_MS, from_iso
from simulator.scenario import demo
from simulator.simulation import ClusterSimulation

START_MS = from_iso("2026-11-23")
END_MS = START_MS + 4 * DAY_MS


@pytest.fixture(scope="session")
def lived() -> ClusterSimulation:
    """Four days of the quick cluster, lived; for tests that only look."""
    simulation = demo(11, START_MS, END_MS, quick=True)
    for hour in range(1, 4 * 24 + 1):
        simulation.advance(START_MS + hour * HOUR_MS)
    return simulation


@pytest.fixture
def noon() -> ClusterSimulation:
    """The quick cluster on its first day at noon, fresh for a test that changes it."""
    simulation = demo(11, START_MS, END_MS, quick=True)
    simulation.advance(START_MS + 12 * HOUR_MS)
    return simulation
