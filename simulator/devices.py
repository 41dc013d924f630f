"""The devices' physics: activity, power, energy, temperature and memory of every GPU, tick by tick."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quartermaster.clock import DAY_MS, MINUTE_MS, SECOND_MS
from quartermaster.parts import GPU_PARTS
from simulator.behaviour import NOTHING, Behaviour
from simulator.fleet import Fleet

TICK_MS = 30 * SECOND_MS  # the exporters' own collect interval
_WINDOW_MS = 10 * MINUTE_MS
_WINDOWS = 1009  # how many ten-minute windows a slot's diary has before it repeats: a prime, a week
_FOREVER = 1 << 62
_VALUES = 9
_NOISES = 3  # kinds of noise a tick: activity, power, utilization
_WARMS = 0.28  # of the way to its final temperature that a GPU goes in one tick
_HUNG_HEAT = 0.015  # a spinning kernel warms a GPU little

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Reading:
    """What the exporters read at one tick: arrays by unit (activities are ratios 0–1), by slot or by GPU."""

    gr_engine: Floats
    sm: Floats
    tensor: Floats
    dram: Floats
    gpu_util: Floats  # a ratio too
    memory_mib: Floats  # by unit: used
    slot_activity: Floats
    slot_memory_mib: Floats
    context: Bools  # by GPU: whether a CUDA context is on it
    power_w: Floats  # by GPU, as the following
    energy_mj: Floats
    temperature_c: Floats


@dataclass(frozen=True)
class _Tick:
    """The last tick before anybody asks for it: activity and occupation by slot, its noise, who hangs."""

    activity: Floats
    hung: Bools
    noise: Floats


class Devices:
    """Every GPU of a fleet. Energy is the integral of power; noise depends on the seed and the tick alone."""

    def __init__(self, fleet: Fleet, seed: int, start_ms: int) -> None:
        self.tick_ms = start_ms - start_ms % TICK_MS
        self._noise = np.random.Generator(np.random.PCG64([seed, 1]))
        once = np.random.Generator(np.random.PCG64([seed, 2]))
        slots, gpus = len(fleet.slots), len(fleet.gpus)
        self._diary: Floats = once.random((_WINDOWS, slots))
        self._first_slot = np.array([unit.slots[0].index for unit in fleet.units])
        self._first_unit = np.array([gpu.units[0].index for gpu in fleet.gpus])
        self._unit_share: Floats = np.array([unit.parts / GPU_PARTS for unit in fleet.units])
        self._slot_memory: Floats = np.array(
            [unit.memory_mib / len(unit.slots) for unit in fleet.units for _ in unit.slots]
        )
        self._context_mib: Floats = np.array(
            [float(fleet.gpus[fleet.units[slot.unit].gpu].model.context_mib) for slot in fleet.slots]
        )
        models = [gpu.model for gpu in fleet.gpus]
        alike: Floats = 1 + 0.03 * np.clip(once.standard_normal(gpus), -2, 2)  # no two boards are
        self._idle_w: Floats = np.array([model.idle_w for model in models]) * alike
        self._context_w: Floats = np.array([model.context_w for model in models]) * alike
        self._limit_w: Floats = np.array([float(model.limit_w) for model in models])
        self._degrees: Floats = np.array([model.degrees_a_watt for model in models]) * alike
        self._air_c: Floats = 24 + 4 * once.random(gpus)
        self._power_w: Floats = self._idle_w.copy()
        self._temperature_c: Floats = self._air_c + self._degrees * self._power_w
        self._energy_mj: Floats = np.floor(
            once.uniform(20, 400, gpus) * DAY_MS * self._idle_w
        )  # since an earlier boot
        self._values: Floats = np.zeros((_VALUES, slots))
        self._since: npt.NDArray[np.int64] = np.zeros((4, slots), dtype=np.int64)
        self._occupied: Bools = np.zeros(slots, dtype=np.bool_)
        for slot in range(slots):
            self.release(slot)
        self._last = _Tick(np.zeros(slots), np.zeros(slots, dtype=np.bool_), np.zeros((_NOISES, slots)))
        self._reading: Reading | None = None

    def occupy(self, slot: int, behaviour: Behaviour, started_ms: int) -> None:
        """A pod's processes start on the slot: from the next tick on they are seen."""
        self._write(slot, behaviour, started_ms)
        self._occupied[slot] = True

    def release(self, slot: int) -> None:
        """The slot's processes are gone."""
        self._write(slot, NOTHING, 0)
        self._occupied[slot] = False

    def restart_counter(self, gpu: int) -> None:
        """A reboot: the GPU's energy counter starts from zero."""
        self._energy_mj[gpu] = 0.0
        self._reading = None

    def advance(self, to_ms: int) -> None:
        """Let every tick up to `to_ms` (inclusive) pass, with the pods as they are now."""
        count = (to_ms - self.tick_ms) // TICK_MS
        if count <= 0:
            return
        ticks = self.tick_ms + TICK_MS * np.arange(1, count + 1, dtype=np.int64)
        noise = self._noise.standard_normal((count, _NOISES, self._occupied.size))
        activity, hung = self._activity(ticks, noise[:, 0])
        self._draw(activity, hung, noise[:, 1, : self._idle_w.size])
        self._last = _Tick(activity[-1], hung[-1], noise[-1])
        self._reading = None
        self.tick_ms = int(ticks[-1])

    def reading(self) -> Reading:
        """The last tick's values."""
        if self._reading is None:
            self._reading = self._read()
        return self._reading

    def _write(self, slot: int, behaviour: Behaviour, started_ms: int) -> None:
        b = behaviour
        self._values[:, slot] = (
            b.level,
            b.sm,
            b.tensor,
            b.dram,
            b.heat,
            b.memory,
            b.rhythm,
            b.duty,
            b.dip * b.checkpoint_every_ms,
        )
        quiet = _FOREVER if b.quiet_after_ms is None else started_ms + b.quiet_after_ms
        hung = _FOREVER if b.hung_after_ms is None else started_ms + b.hung_after_ms
        self._since[:, slot] = (started_ms, quiet, hung, b.checkpoint_every_ms)

    def _activity(self, ticks: npt.NDArray[np.int64], noise: Floats) -> tuple[Floats, Bools]:
        """GR_ENGINE_ACTIVE by tick and slot, and who hangs."""
        level, rhythm, duty, dip = self._values[[0, 6, 7, 8]]
        started, quiet, hung_from, every = self._since
        at = ticks[:, None]
        works = self._diary[ticks // _WINDOW_MS % _WINDOWS] < duty
        works &= at < quiet
        works &= (at - started) % every >= dip
        activity = level * (1 - rhythm * (1 - daylight(ticks)[:, None])) + 0.02 * noise
        activity = np.where(
            works, activity, 0.003 * np.abs(noise)
        )  # a context without work is not quite silent
        hung = at >= hung_from
        activity[hung] = 1.0
        return np.clip(activity, 0.0, 1.0) * self._occupied, hung

    def _draw(self, activity: Floats, hung: Bools, noise: Floats) -> None:
        """Power, temperature and energy of every GPU over the ticks."""
        heat = np.where(hung, _HUNG_HEAT, self._values[4]) * activity
        units = np.minimum(1.0, np.add.reduceat(heat, self._first_slot, axis=1)) * self._unit_share
        load = np.add.reduceat(units, self._first_unit, axis=1)
        base = self._idle_w + self._context_w * self._contexts()
        power = base + (self._limit_w - base) * load + (0.4 + 6.0 * load) * np.clip(noise, -3, 3)
        power = np.minimum(power, self._limit_w)
        before = np.vstack([self._power_w, power[:-1]])
        self._energy_mj = self._energy_mj + np.rint((before + power) * (TICK_MS / 2)).sum(axis=0)
        for row in power:
            self._temperature_c = self._temperature_c + _WARMS * (
                self._air_c + self._degrees * row - self._temperature_c
            )
        self._power_w = power[-1]

    def _contexts(self) -> Bools:
        units = np.logical_or.reduceat(self._occupied, self._first_slot)
        return np.logical_or.reduceat(units, self._first_unit)

    def _read(self) -> Reading:
        activity, hung, noise = self._last.activity, self._last.hung, self._last.noise
        _, sm, tensor, dram, _, memory, _, _, _ = self._values
        works = np.where(hung, 0.0, activity)
        slot_memory = np.where(
            self._occupied, self._context_mib + memory * (self._slot_memory - self._context_mib), 0.0
        )
        gr_engine = self._by_unit(activity)
        shown = np.where(
            gr_engine > 0.01, gr_engine * (1.04 + 0.05 * noise[2][self._first_slot]), 0.0
        )  # of a moment only
        return Reading(
            gr_engine=gr_engine,
            sm=self._by_unit(np.where(hung, 0.06, sm * activity)),
            tensor=self._by_unit(tensor * works),
            dram=self._by_unit(dram * works),
            gpu_util=np.clip(np.where(self._by_unit(hung.astype(np.float64)) > 0, 1.0, shown), 0.0, 1.0),
            memory_mib=np.floor(np.add.reduceat(slot_memory, self._first_slot)),
            slot_activity=activity,
            slot_memory_mib=np.floor(slot_memory),
            context=self._contexts(),
            power_w=self._power_w,
            energy_mj=self._energy_mj,
            temperature_c=self._temperature_c,
        )

    def _by_unit(self, of_slots: Floats) -> Floats:
        return np.minimum(1.0, np.add.reduceat(of_slots, self._first_slot))


def daylight(ticks: npt.NDArray[np.int64]) -> Floats:
    """How much of its peak a service is asked for: least at 03:00 UTC, most at 15:00, less at week-ends."""
    hours = ticks / (DAY_MS / 24)
    curve = 0.5 - 0.5 * np.cos((hours - 3) * (2 * np.pi / 24))
    weekend = (ticks // DAY_MS + 3) % 7 >= 5  # 1970-01-01 was a Thursday
    return curve * np.where(weekend, 0.55, 1.0)
