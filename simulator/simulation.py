"""A simulation: a cluster with its exporters, as the demo, the tests and the server run it."""

from collections.abc import Mapping, Sequence

from quartermaster.errors import InputError
from simulator import configuration, quirks
from simulator.cluster import Cluster, Script
from simulator.devices import Floats
from simulator.gangs import Pod
from simulator.labels import GENERATIONS, Generation
from simulator.metrics import Figures
from simulator.pages import Scene, Template, stamped, template
from simulator.truth import Record


class ClusterSimulation:
    """A cluster that stands at `clock_ms`. The same seed gives the same records and pages."""

    def __init__(self, script: Script, generations: Mapping[str, str], end_ms: int) -> None:
        """`generations`: each pool's label generation; `end_ms`: the end of the script's span."""
        self._script = script
        self._end_ms = end_ms
        self.cluster = Cluster(script)
        self._figures = Figures(script.fleet)
        self._vector: Floats | None = None
        self._vector_at: tuple[int, list[int]] = (-1, [])
        self._exporters = {
            machine.name: _Exporter(self.cluster, machine.name, _known(generations[machine.plan.pool]))
            for machine in script.fleet.machines
        }

    @property
    def clock_ms(self) -> int:
        """Where the virtual clock stands."""
        return self.cluster.clock_ms

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes' names, in order."""
        return tuple(self._exporters)

    def advance(self, to_ms: int) -> None:
        """Let the cluster live until `to_ms`; an instant that has passed changes nothing."""
        self.cluster.advance(to_ms)

    def truth(self, since_ms: int | None = None) -> dict[str, list[Record]]:
        """What a Kubernetes watch said after `since_ms` (None: the start) until now, as {table: records}.

        Versions with growing revisions, ready for `ledger.append`; and the watermarks of holders and quota.
        """
        return self.cluster.truth.since(since_ms, self.clock_ms)

    def page(self, node: str, now_ms: int) -> bytes | None:
        """The page of the node's exporter at `now_ms` (the clock moves there first); None where it is down.

        Raises InputError for a node that is not there.
        """
        self.advance(now_ms)
        if not self.cluster.machine(node).answers:
            return None
        return self._exporters[node].page(self._values(), self._figures, self.clock_ms)

    def switch(self, node: str, names: Sequence[str]) -> None:
        """Set a node's quirks ("*": every node's); none ends them. Raises InputError for an unknown name."""
        switched = quirks.checked(names)
        for name in self.nodes if node == "*" else (node,):
            self.cluster.machine(name)
            self._exporters[name].switch(switched)

    def quirks(self, node: str) -> Sequence[str]:
        """The quirks that are switched on for the node."""
        self.cluster.machine(node)
        return self._exporters[node].switched

    def speak(self, node: str, generation: str) -> None:
        """Set a node's label generation ("*": every node's). Raises InputError for one that is not known."""
        known = _known(generation)
        for name in self.nodes if node == "*" else (node,):
            self.cluster.machine(name)
            self._exporters[name].generation = known

    def configuration(self, base_url: str, holders: str = "kubernetes") -> str:
        """The text of a quartermaster.yaml for this cluster; pages stand at `<base_url>/<node>/metrics`.

        `holders`: who is believed about who holds a GPU: kubernetes (`truth`), or labels (the pages').
        """
        return configuration.of_cluster(self._script, base_url, self._end_ms, holders)

    def _values(self) -> Floats:
        if self._vector is None or self._vector_at != (self.cluster.devices.tick_ms, self.cluster.xids):
            self._vector = self._figures.vector(self.cluster.devices, self.cluster.xids)
            self._vector_at = (self.cluster.devices.tick_ms, list(self.cluster.xids))
        return self._vector


class _Exporter:
    """One node's exporter: keeps its template until something on the node changes."""

    def __init__(self, cluster: Cluster, node: str, generation: Generation) -> None:
        self.switched: tuple[str, ...] = ()
        self.generation = generation
        self._cluster = cluster
        self._state = cluster.machines[node]
        self._template: Template | None = None
        self._key: object = None
        self._frozen: bytes | None = None
        self._slots = [slot.index for slot in self._state.machine.slots()]
        self._last: dict[int, Pod] = {}

    def switch(self, switched: tuple[str, ...]) -> None:
        self.switched = switched
        self._frozen = None

    def page(self, vector: Floats, figures: Figures, now_ms: int) -> bytes:
        if self._frozen is not None:
            return self._frozen
        occupants = self._cluster.occupants
        if "lingering-labels" in self.switched:
            occupants = self._lingering(now_ms)
        labelled = "vanishing-labels" not in self.switched or not quirks.labels_vanish(now_ms)
        xids = self._cluster.xids
        shown = tuple(id(occupants[slot]) for slot in self._slots)
        errors = tuple(xids[gpu.index] for gpu in self._state.machine.gpus)
        key = (shown, self._state.changes, errors, labelled, self.switched, self.generation.name)
        if self._template is None or key != self._key:
            scene = Scene(occupants, xids, labelled)
            self._template = template(self._state.machine, self.generation, self.switched, figures, scene)
            self._key = key
        page = self._template.fill(vector, wrap_energy="counter-reset" in self.switched)
        if "clock-jump" in self.switched:
            page = stamped(page, quirks.timestamp(now_ms))
        if "frozen" in self.switched:
            self._frozen = page
        return page

    def _lingering(self, now_ms: int) -> Sequence[Pod | None]:
        """The occupants, and on free slots those who left less than half an hour ago."""
        shown = list(self._cluster.occupants)
        for slot in self._slots:
            pod = shown[slot]
            if pod is not None:
                self._last[slot] = pod
            elif (last := self._last.get(slot)) is not None:
                left = last.allocation.end_at
                shown[slot] = last if left is not None and now_ms - left < quirks.LINGERS_MS else None
        return shown


def _known(name: str) -> Generation:
    if name not in GENERATIONS:
        raise InputError(f"{name!r} is no label generation", f"one of {', '.join(GENERATIONS)}")
    return GENERATIONS[name]
