"""Shared by every test: Hypothesis' profiles, and the real servers (tests/servers)."""

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.servers.plugin"]

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    max_examples=100,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile("dev", deadline=None, max_examples=50, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("soak", deadline=None, max_examples=5000, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
