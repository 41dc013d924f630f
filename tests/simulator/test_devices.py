"""The devices' physics: energy is the integral of power, and each floor is where it was measured."""

from random import Random

import numpy as np
import pytest

from quartermaster.clock import DAY_MS, HOUR_MS, from_iso
from simulator import behaviour
from simulator.devices import TICK_MS, Devices
from simulator.fleet import NodePlan, build
from simulator.models import A100, H100, L40S, T4

START_MS = from_iso("2026-11-23")
PLANS = [
    NodePlan("h", "p", H100, 8),
    NodePlan("a", "p", A100, 2, mig=(("3g.40gb", "2g.20gb", "1g.10gb"),)),
    NodePlan("l", "p", L40S, 2),
    NodePlan("t", "p", T4, 2, replicas=4),
]


def devices() -> Devices:
    return Devices(build("c", PLANS, 1), 1, START_MS)


def busy() -> Devices:
    found = devices()
    random = Random(1)
    found.occupy(0, behaviour.training(random), START_MS)
    found.occupy(1, behaviour.notebook(random, HOUR_MS), START_MS)
    found.occupy(2, behaviour.hung(random, HOUR_MS), START_MS)
    found.occupy(3, behaviour.server(random), START_MS)
    found.occupy(8, behaviour.batch(random), START_MS)
    found.occupy(14, behaviour.batch(random), START_MS)
    return found


def test_energy_is_the_integral_of_power_and_never_falls():
    found = busy()
    before = found.reading()
    energy, power = before.energy_mj.copy(), before.power_w.copy()
    integral = np.zeros_like(power)
    for tick in range(1, 400):
        found.advance(START_MS + tick * TICK_MS)
        reading = found.reading()
        assert (reading.energy_mj > energy).all()
        integral += np.rint((power + reading.power_w) * TICK_MS / 2)
        energy, power = reading.energy_mj.copy(), reading.power_w.copy()
    assert (energy - before.energy_mj == integral).all()


def test_noise_does_not_depend_on_the_steps():
    fine, coarse = busy(), busy()
    for tick in range(1, 101):
        fine.advance(START_MS + tick * TICK_MS)
    coarse.advance(START_MS + 100 * TICK_MS + TICK_MS - 1)
    assert fine.tick_ms == coarse.tick_ms
    for name in ("power_w", "energy_mj", "temperature_c", "gr_engine", "gpu_util"):
        assert (getattr(fine.reading(), name) == getattr(coarse.reading(), name)).all(), name


def test_a_forgotten_notebook_draws_its_context_and_a_free_gpu_does_not():
    found = busy()
    found.advance(START_MS + 3 * HOUR_MS)
    reading = found.reading()
    notebook, nobody = reading.power_w[1], reading.power_w[5]
    assert 26 <= notebook - nobody <= 66
    assert reading.gr_engine[1] < 0.02
    assert reading.gr_engine[5] == 0
    assert reading.memory_mib[1] > 500
    assert reading.memory_mib[5] == 0


def test_a_hung_job_says_100_and_does_nothing():
    found = busy()
    found.advance(START_MS + 5 * HOUR_MS + 20 * TICK_MS)
    reading = found.reading()
    assert reading.gpu_util[2] == 1.0
    assert reading.tensor[2] == reading.dram[2] == 0
    assert reading.power_w[2] < 160 < reading.power_w[0]


def test_a_server_follows_the_time_of_day():
    found = busy()
    by_hour: list[float] = []
    for hour in range(24):
        found.advance(START_MS + hour * HOUR_MS + 10 * TICK_MS)
        by_hour.append(float(found.reading().gr_engine[3]))
    assert np.argmax(by_hour) in range(13, 18)
    assert max(by_hour) > 3 * np.median(by_hour[1:6])


def test_activity_on_an_instance_warms_its_gpu_by_its_part():
    found = devices()
    idle = found.reading().power_w[8]
    found.occupy(8, behaviour.batch(Random(2)), START_MS)
    found.advance(START_MS + 620 * TICK_MS)
    reading = found.reading()
    assert reading.gr_engine[8] > 0.3
    assert reading.gr_engine[9] == reading.gr_engine[10] == 0
    assert idle < reading.power_w[8] < idle + A100.context_w + (A100.limit_w - A100.idle_w) * 3 / 7


def test_a_reboot_starts_the_counter_anew():
    found = busy()
    found.advance(START_MS + HOUR_MS)
    found.restart_counter(0)
    found.advance(START_MS + HOUR_MS + TICK_MS)
    assert found.reading().energy_mj[0] < 700 * TICK_MS + 1


def test_nothing_leaves_its_bounds_in_a_day():
    found = busy()
    for hour in range(1, 25):
        found.advance(START_MS + hour * HOUR_MS)
        reading = found.reading()
        for name in ("gr_engine", "sm", "tensor", "dram", "gpu_util"):
            assert ((getattr(reading, name) >= 0) & (getattr(reading, name) <= 1)).all(), name
        assert (reading.power_w > 0).all()
        assert (reading.temperature_c < 95).all()
    assert found.tick_ms == START_MS + DAY_MS


def test_profiles_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"3g.40gb, 3g.40gb, 2g.20gb do not fit"):
        build("c", [NodePlan("a", "p", A100, 1, mig=(("3g.40gb", "3g.40gb", "2g.20gb"),))], 1)
    with pytest.raises(ValueError, match="no MIG profile"):
        build("c", [NodePlan("a", "p", A100, 1, mig=(("9g.80gb",),))], 1)
