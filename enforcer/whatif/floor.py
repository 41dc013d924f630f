"""The floor: the room on a pool's machines, by GPU; the fullest that still has enough is taken first."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from enforcer.whatif.asked import Machine
from quartermaster.parts import GPU_PARTS

Place = tuple[int, tuple[tuple[int, int], ...]]  # a machine's number, and how much of which of its GPUs
Places = tuple[Place, ...]
_FULL = np.iinfo(np.int64).max


class Floor:
    """Who needs whole GPUs gets GPUs that are wholly free, all of one pod on one machine; a share is of one GPU."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.numbers = {machine.node: number for number, machine in enumerate(machines)}
        counts = np.array([machine.gpus for machine in machines], dtype=np.int64)
        there = np.arange(max(1, int(counts.max(initial=0))))[None, :] < counts[:, None]
        self._room: npt.NDArray[np.int64] = np.where(there, GPU_PARTS, -1)
        self._whole = counts.copy()
        self._open = np.array([machine.open for machine in machines], dtype=bool)
        self._gpus = counts
        self.given = 0  # grows whenever there may be room where there was none

    @property
    def capacity_parts(self) -> int:
        """What the machines have that take pods, and what is held on the others."""
        return self.parts - self.down_parts

    @property
    def parts(self) -> int:
        """All that there is."""
        return int(self._gpus.sum()) * GPU_PARTS

    @property
    def free_parts(self) -> int:
        """What nobody holds on machines that take pods."""
        return int(np.maximum(self._room[self._open], 0).sum())

    @property
    def down_parts(self) -> int:
        """What nobody holds on machines that take none."""
        return int(np.maximum(self._room[~self._open], 0).sum())

    def turn(self, node: str, *, is_open: bool) -> None:
        """From now on the machine takes pods, or does not."""
        self._open[self.numbers[node]] = is_open
        self.given += 1

    def place(self, pods: Sequence[int]) -> Places | None:
        """Where the pods fit, all of them, and it is taken; None where they do not, and nothing is."""
        places: list[Place] = []
        for parts in pods:
            found = self._place(parts)
            if found is None:
                self.give(places)
                return None
            self.take((found,))
            places.append(found)
        return tuple(places)

    def fits(self, pods: Sequence[int]) -> bool:
        """Whether they would fit."""
        if len(pods) == 1:
            return self._place(pods[0]) is not None
        places = self.place(pods)
        if places is not None:
            self.give(places)
        return places is not None

    def fits_on(self, machine: int, parts: int) -> bool:
        """Whether one pod would fit on that machine."""
        if not self._open[machine]:
            return False
        if parts < GPU_PARTS:
            return bool(self._room[machine].max() >= parts)
        return bool(self._whole[machine] >= -(-parts // GPU_PARTS))

    def place_on(self, node: str, parts: int) -> Place | None:
        """A place on that node, whether it takes pods or not; None where there is no room."""
        machine = self.numbers.get(node)
        return None if machine is None else self._on(machine, parts)

    def take(self, places: Iterable[Place]) -> None:
        """The places are held."""
        for machine, gpus in places:
            for gpu, parts in gpus:
                self._room[machine, gpu] -= parts
            self._whole[machine] = np.count_nonzero(self._room[machine] == GPU_PARTS)

    def give(self, places: Iterable[Place]) -> None:
        """They are free again."""
        for machine, gpus in places:
            for gpu, parts in gpus:
                self._room[machine, gpu] += parts
            self._whole[machine] = np.count_nonzero(self._room[machine] == GPU_PARTS)
        self.given += 1

    def most_after(self, machine: int, parts: int) -> int:
        """How many whole GPUs could be free there at most, were so much given back."""
        return int(self._whole[machine]) + -(-parts // GPU_PARTS)

    def _place(self, parts: int) -> Place | None:
        if parts < GPU_PARTS:
            left = np.where((self._room >= parts) & self._open[:, None], self._room, _FULL)
            machine, gpu = divmod(int(left.argmin()), left.shape[1])
            return None if left[machine, gpu] == _FULL else (machine, ((gpu, parts),))
        whole = np.where((self._whole >= -(-parts // GPU_PARTS)) & self._open, self._whole, _FULL)
        machine = int(whole.argmin())
        return None if whole[machine] == _FULL else self._on(machine, parts)

    def _on(self, machine: int, parts: int) -> Place | None:
        room = self._room[machine]
        if parts < GPU_PARTS:
            left = np.where(room >= parts, room, _FULL)
            gpu = int(left.argmin())
            return None if left[gpu] == _FULL else (machine, ((gpu, parts),))
        count = -(-parts // GPU_PARTS)
        free = np.flatnonzero(room == GPU_PARTS)[:count]
        if len(free) < count:
            return None
        last = parts - (count - 1) * GPU_PARTS
        sizes = [GPU_PARTS] * (count - 1) + [last]
        return machine, tuple((int(gpu), size) for gpu, size in zip(free, sizes, strict=True))
