"""NVIDIA's library through its own binding: what each GPU says, as values. Runs in the reader's process alone."""

import ctypes
import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from collector.nvml.look import LOST, RESET, Gpu, Instance

NO_LIBRARY = "no NVML library"
_LOST, _RESET = 15, 16
_GONE = {_LOST: LOST, _RESET: RESET}
_NO_PERMISSION, _TIMEOUT = 4, 10
# What ends the session with the driver: the next look begins a new one.
_SESSION = {
    1: ("driver loaded anew", "the driver was unloaded or loaded anew; the next look begins afresh"),
    4: ("no permission", "let the collector's user open /dev/nvidiactl and /dev/nvidia*"),
    9: ("driver not loaded", "load NVIDIA's kernel module: modprobe nvidia; nvidia-smi says more"),
    12: (NO_LIBRARY, "libnvidia-ml.so.1 cannot be loaded; it comes with NVIDIA's driver"),
    18: ("driver and library differ", "the driver was updated: reboot, or load its kernel modules anew"),
}
# Percentages of GPM by the column that they become; a ratio there.
_GPM = {1: "gr_engine_permille", 2: "sm_permille", 5: "tensor_permille", 10: "dram_permille"}
_SAMPLES = {1: "gpu_util_permille", 2: "mem_copy_permille"}
_XID, _MEMORY_V2, _MEMORY_TEMP, _MIB = 8, 0x02000028, 82, 1024 * 1024
_MANY_EVENTS = 64


class SessionError(Exception):
    """The library or the driver behind it does not answer: a reason in few words, and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


class _GoneError(SessionError):
    """A GPU answers nothing: it alone, where it is one GPU that was asked."""

    def __init__(self, trouble: str) -> None:
        super().__init__(trouble, "nvidia-smi and dmesg say more")


class Library:
    """A session with the library, from `open` until an error ends it; in between it remembers samples of GPM."""

    def __init__(self) -> None:
        self._nvml: Any = import_module("pynvml")
        self._events: Any = None
        self._watched: dict[int, int] = {}  # the address of a GPU's handle → its index
        self._xids: dict[int, list[int]] = {}
        self._gpm: dict[tuple[str, int], Any] = {}
        self._sampled: dict[tuple[str, int], int] = {}
        self._refused: dict[str, int] = {}

    def open(self) -> None:
        """Begin the session. Raises SessionError."""
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            raise self._broken(error.value) from error
        self._events = self._ask("nvmlEventSetCreate")

    def driver(self) -> str:
        """The driver's version, empty where it is not told."""
        return self._text("nvmlSystemGetDriverVersion")

    def gpus(self) -> tuple[Gpu, ...]:
        """Every GPU that the library counts, by index. Raises SessionError."""
        count = self._ask("nvmlDeviceGetCount")
        if count is None:
            raise SessionError(
                "not understood", "NVML does not say how many GPUs there are; nvidia-smi may say why"
            )
        self._drain()
        return tuple(self._gpu(index) for index in range(count))

    def _gpu(self, index: int) -> Gpu:
        uuid = ""
        try:
            handle = self._ask("nvmlDeviceGetHandleByIndex", index)
            if handle is None:
                return Gpu(index, trouble=self._why("nvmlDeviceGetHandleByIndex"))
            uuid = self._text("nvmlDeviceGetUUID", handle)
            if not uuid:
                return Gpu(index, trouble=self._why("nvmlDeviceGetUUID"))
            self._watch(handle, index)
            mode = self._ask("nvmlDeviceGetMigMode", handle)
            mig = bool(mode and mode[0])
            persistence = self._ask("nvmlDeviceGetPersistenceMode", handle)
            return Gpu(
                index=index,
                uuid=uuid,
                model=self._text("nvmlDeviceGetName", handle),
                minor=self._ask("nvmlDeviceGetMinorNumber", handle),
                mig=mig,
                persistent=None if persistence is None else bool(persistence),
                signals=self._of_gpu(handle) | ({} if mig else self._activity(handle, uuid)),
                pids=() if mig else self._pids(handle),
                xids=tuple(self._xids.pop(index, ())),
                instances=tuple(self._instances(handle, uuid)) if mig else (),
            )
        except _GoneError as gone:
            return Gpu(index, uuid, trouble=gone.reason, xids=tuple(self._xids.pop(index, ())))

    def _of_gpu(self, handle: Any) -> dict[str, float]:  # noqa: ANN401
        """What a GPU has as a whole, cut into instances or not."""
        milliwatts = self._ask("nvmlDeviceGetPowerUsage", handle)
        fields = self._ask("nvmlDeviceGetFieldValues", handle, [_MEMORY_TEMP])
        memory_temp = fields[0].value.uiVal if fields and fields[0].nvmlReturn == 0 else None
        told = {
            "power_dw": None if milliwatts is None else milliwatts / 1000,
            "energy_j": self._ask("nvmlDeviceGetTotalEnergyConsumption", handle),
            "gpu_temp_c": self._ask("nvmlDeviceGetTemperature", handle, self._nvml.NVML_TEMPERATURE_GPU),
            "memory_temp_c": memory_temp,
            "sm_clock_mhz": self._ask("nvmlDeviceGetClockInfo", handle, self._nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": self._ask("nvmlDeviceGetClockInfo", handle, self._nvml.NVML_CLOCK_MEM),
            "fb_used_mib": self._memory(handle),
        }
        return {column: float(value) for column, value in told.items() if value is not None}

    def _activity(self, handle: Any, uuid: str) -> dict[str, float]:  # noqa: ANN401
        """GPM's averages since the last look, where the GPU has them, and the utilization's."""
        told = self._gpm_of(handle, uuid, None)
        for kind, column in _SAMPLES.items():
            mean = self._mean(handle, uuid, kind)
            if mean is not None:
                told[column] = mean
        if not told.keys() & set(_SAMPLES.values()):
            rates = self._ask("nvmlDeviceGetUtilizationRates", handle)
            if rates is not None:
                told |= {"gpu_util_permille": float(rates.gpu), "mem_copy_permille": float(rates.memory)}
        return told

    def _mean(self, handle: Any, uuid: str, kind: int) -> float | None:  # noqa: ANN401
        """The mean of the driver's own samples since the last look; it keeps those of some seconds."""
        last = self._sampled.get((uuid, kind), 0)
        found = self._ask("nvmlDeviceGetSamples", handle, kind, last)
        values = [(each.timeStamp, each.sampleValue.uiVal) for each in found[1]] if found else []
        values = [(at, value) for at, value in values if at > last]
        if not values:
            return None
        self._sampled[uuid, kind] = max(at for at, _ in values)
        return sum(value for _, value in values) / len(values)

    def _gpm_of(self, handle: Any, uuid: str, gi: int | None) -> dict[str, float]:  # noqa: ANN401
        support = self._ask("nvmlGpmQueryDeviceSupport", handle)
        if support is None or not support.isSupportedDevice:
            return {}
        sample = self._ask("nvmlGpmSampleAlloc")
        if sample is None:
            return {}
        where = () if gi is None else (gi,)
        name = "nvmlGpmSampleGet" if gi is None else "nvmlGpmMigSampleGet"
        taken = self._ask(name, handle, *where, sample)
        before = self._gpm.pop((uuid, -1 if gi is None else gi), None)
        told: dict[str, float] = {}
        if taken is not None and before is not None:
            told = self._between(before, sample)
        if before is not None:
            self._ask("nvmlGpmSampleFree", before)
        if taken is None:
            self._ask("nvmlGpmSampleFree", sample)
        else:
            self._gpm[uuid, -1 if gi is None else gi] = sample
        return told

    def _between(self, before: Any, after: Any) -> dict[str, float]:  # noqa: ANN401
        asked = self._nvml.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = self._nvml.NVML_GPM_METRICS_GET_VERSION, len(_GPM)
        asked.sample1, asked.sample2 = before, after
        for number, metric in enumerate(_GPM):
            asked.metrics[number].metricId = metric
        if self._ask("nvmlGpmMetricsGet", asked) is None:
            return {}
        return {
            column: asked.metrics[number].value / 100
            for number, column in enumerate(_GPM.values())
            if asked.metrics[number].nvmlReturn == 0
        }

    def _memory(self, handle: Any) -> float | None:  # noqa: ANN401
        memory = self._ask("nvmlDeviceGetMemoryInfo", handle, _MEMORY_V2)
        if memory is None:  # a library from before; there the driver's own part is counted as used
            memory = self._ask("nvmlDeviceGetMemoryInfo", handle)
        return None if memory is None else memory.used / _MIB

    def _instances(self, handle: Any, uuid: str) -> Iterable[Instance]:  # noqa: ANN401
        for number in range(self._ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
            one = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
            gi = None if one is None else self._ask("nvmlDeviceGetGpuInstanceId", one)
            if one is None or gi is None:
                continue
            memory = self._memory(one)
            yield Instance(
                gi=gi,
                ci=self._ask("nvmlDeviceGetComputeInstanceId", one) or 0,
                uuid=self._text("nvmlDeviceGetUUID", one),
                profile=self._text("nvmlDeviceGetName", one).rpartition("MIG ")[2],
                signals=self._gpm_of(handle, uuid, gi) | ({} if memory is None else {"fb_used_mib": memory}),
                pids=self._pids(one),
            )

    def _pids(self, handle: Any) -> tuple[int, ...] | None:  # noqa: ANN401
        """Who computes there: own contexts, and clients of MPS; a desktop that only draws is nobody."""
        found = self._ask("nvmlDeviceGetComputeRunningProcesses", handle)
        if found is None:  # drivers before 510
            found = self._ask("nvmlDeviceGetComputeRunningProcesses_v2", handle)
        if found is None:
            return None
        clients: Any = self._ask("nvmlDeviceGetMPSComputeRunningProcesses", handle) or []
        return tuple(sorted({int(each.pid) for each in (*found, *clients)}))

    def _watch(self, handle: Any, index: int) -> None:  # noqa: ANN401
        address = _address(handle)
        if self._events is not None and address not in self._watched:
            self._ask("nvmlDeviceRegisterEvents", handle, _XID, self._events)
            self._watched[address] = index

    def _drain(self) -> None:
        """The XIDs since the last look; the library keeps them for us."""
        for _ in range(_MANY_EVENTS if self._events is not None else 0):
            try:
                event = self._nvml.nvmlEventSetWait_v2(self._events, 0)
            except self._nvml.NVMLError:
                return
            index = self._watched.get(_address(event.device))
            if index is not None and event.eventType == _XID:
                self._xids.setdefault(index, []).append(int(event.eventData))

    def _text(self, name: str, *arguments: Any) -> str:  # noqa: ANN401
        """A text of the library, whatever its encoding: the binding's own decoding would raise."""
        found = self._ask(name, *arguments)
        return (
            ""
            if found is None
            else found.decode("utf-8", "replace").strip()
            if isinstance(found, bytes)
            else found
        )

    def _ask(self, name: str, *arguments: Any) -> Any:  # noqa: ANN401
        """The function's answer, None where it is not supported or not allowed. Raises SessionError, _GoneError."""
        try:
            return inspect.unwrap(getattr(self._nvml, name))(*arguments)
        except self._nvml.NVMLError as error:
            code = int(error.value)
            if code in _GONE:
                raise _GoneError(_GONE[code]) from error
            if code in _SESSION and code != _NO_PERMISSION:
                raise self._broken(code) from error
            self._refused[name] = code
            return None

    def _why(self, name: str) -> str:
        return str(self._nvml.NVMLError(self._refused.get(name, 999)))

    def _broken(self, code: int) -> SessionError:
        reason, detail = _SESSION.get(code, (f"NVML error {code}", str(self._nvml.NVMLError(code))))
        return SessionError(reason, detail)


def _address(handle: Any) -> int:  # noqa: ANN401
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
