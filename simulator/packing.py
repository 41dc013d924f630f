"""Packing: which pod of a trace sits on which GPUs, and when, where room is all that counts."""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.trace import Trace, TracePod

_WHOLE = 1000


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod's stay: the node's and GPUs' numbers; `node` -1 with no GPUs where it never got room."""

    pod: TracePod
    node: int
    gpus: tuple[int, ...]
    bound_ms: int
    end_ms: int


def pack(trace: Trace) -> list[Placed]:
    """Each pod's place, best fit, in order of binding; those that never ran last.

    A pod is bound at its time in the trace, or when there is room: in order of creation among pods of one
    shape, and a smaller shape does not wait for a larger one. CPU and memory are not looked at.
    """
    return _Packer(trace).run()


class _Packer:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        widest = max(node.gpus for node in trace.nodes)
        counts = np.array([node.gpus for node in trace.nodes])
        exists = np.arange(widest)[None, :] < counts[:, None]
        self._room: npt.NDArray[np.int64] = np.where(exists, _WHOLE, -1)
        self._whole: npt.NDArray[np.int64] = counts.copy()
        self._ends: list[tuple[int, int, Placed]] = []
        self._queues: dict[tuple[int, int], deque[TracePod]] = {}
        self._placed: list[Placed] = []
        self._never: list[Placed] = []

    def run(self) -> list[Placed]:
        for pod in sorted(self._trace.pods, key=lambda pod: (pod.bound_ms or 0, pod.name)):
            if pod.bound_ms is None:
                self._never.append(Placed(pod, -1, (), pod.created_ms, pod.deleted_ms))
                continue
            self._until(pod.bound_ms)
            queue = self._queues.setdefault((pod.gpus, pod.milli), deque())
            if queue or not self._bind(pod, pod.bound_ms):
                queue.append(pod)
        self._until(self._trace.end_ms)
        waiting = [pod for queue in self._queues.values() for pod in queue]
        self._never += [Placed(pod, -1, (), pod.created_ms, self._trace.end_ms) for pod in waiting]
        return self._placed + self._never

    def _until(self, at_ms: int) -> None:
        """Let the stays end that end until then, and bind who has waited for their room."""
        while self._ends and self._ends[0][0] <= at_ms:
            end_ms, _, placed = heapq.heappop(self._ends)
            self._free(placed)
            while self._ends and self._ends[0][0] == end_ms:
                self._free(heapq.heappop(self._ends)[2])
            self._next(end_ms)

    def _next(self, at_ms: int) -> None:
        waiting = sorted((queue[0].created_ms, shape) for shape, queue in self._queues.items() if queue)
        failed = 1 << 30  # the least that found no room
        for _, shape in waiting:
            queue = self._queues[shape]
            load = shape[0] * shape[1]
            while queue and load < failed:
                if not self._bind(queue[0], at_ms):
                    failed = load
                    break
                queue.popleft()

    def _bind(self, pod: TracePod, at_ms: int) -> bool:
        place = self._fraction(pod.milli) if pod.milli < _WHOLE else self._whole_gpus(pod.gpus)
        if place is None:
            return False
        node, gpus = place
        assert pod.bound_ms is not None  # noqa: S101
        end_ms = at_ms + max(0, pod.deleted_ms - pod.bound_ms)
        placed = Placed(pod, node, gpus, at_ms, end_ms)
        self._take(node, gpus, pod.milli)
        heapq.heappush(self._ends, (end_ms, len(self._placed), placed))
        self._placed.append(placed)
        return True

    def _fraction(self, milli: int) -> tuple[int, tuple[int, ...]] | None:
        """The GPU with the least room that still has enough."""
        left = np.where(self._room >= milli, self._room, _WHOLE + 1)
        node, gpu = divmod(int(np.argmin(left)), left.shape[1])
        return None if left[node, gpu] > _WHOLE else (node, (gpu,))

    def _whole_gpus(self, count: int) -> tuple[int, tuple[int, ...]] | None:
        """Free GPUs of the node with the fewest of them that are still enough."""
        left = np.where(self._whole >= count, self._whole, 1 << 20)
        node = int(np.argmin(left))
        if left[node] >= 1 << 20:
            return None
        free = np.flatnonzero(self._room[node] == _WHOLE)[:count]
        return node, tuple(int(gpu) for gpu in free)

    def _take(self, node: int, gpus: Sequence[int], milli: int) -> None:
        for gpu in gpus:
            self._room[node, gpu] -= milli
        self._whole[node] = np.count_nonzero(self._room[node] == _WHOLE)

    def _free(self, placed: Placed) -> None:
        self._take(placed.node, placed.gpus, -placed.pod.milli)
