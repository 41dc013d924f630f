"""Placement: what is free on each node, and whether pods truly fit there.

Room is counted as the scheduler counts it: every resource of a node, less what its pods ask for. Pods of one shape
fit if there are as many places as pods, in whatever order they are placed. Where pods of different shapes could
take each other's places they do not fit, though some order might do.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from enforcer.shape import Shape, allowed
from enforcer.snapshot import Coming, Node, Pod

_CPU, _MEMORY, _PODS, _FIRST_UNIT = 0, 1, 2, 3
Vector = tuple[tuple[int, int], ...]
Places = tuple[tuple[str, Shape, int], ...]  # a node, and how many pods of a shape are placed on it


@dataclass(frozen=True, slots=True)
class Ask:
    """Pods of one workload that want places in a pool: shapes that differ, and how many of each.

    `beside` are the nodes of its pods that run already.
    """

    pool: str
    pods: tuple[tuple[Shape, int], ...]
    beside: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many pods."""
        return sum(count for _, count in self.pods)

    def doubt(self) -> str:
        """Why it cannot be told where they fit; "" where it can."""
        for shape, _ in self.pods:
            if shape.unsure:
                return f"its pods ask for {', '.join(shape.unsure)}"
            if shape.apart_on and shape.together_on:
                return f"its pods are apart on {shape.apart_on} and together on {shape.together_on}"
            if len(self.pods) > 1 and (shape.apart_on or shape.together_on):
                return f"its pods differ, and {shape.apart_on or shape.together_on} binds them to one another"
        return ""


@dataclass(slots=True)
class _View:
    """The places of one shape, kept up to date as nodes change."""

    vector: Vector
    domains: dict[
        str, str
    ]  # the nodes where it is allowed; of each the value of the label that binds its pods
    places: dict[str, int]
    total: int
    seen: int


class Room:
    """The room of a cluster. Giving and taking is undone by its opposite."""

    def __init__(self, nodes: Iterable[Node], coming: Iterable[Coming], pods: Iterable[Pod]) -> None:
        """The nodes, those on their way, and every pod that is bound, terminating ones too."""
        self._nodes = {node.name: node for node in nodes}
        self._coming = {each.node.name: each.node for each in coming if each.node.name not in self._nodes}
        self._index: dict[str, int] = {}
        self._vectors: dict[int, tuple[Shape, Vector]] = {}
        everything = [*self._nodes.values(), *self._coming.values()]
        for node in everything:
            for unit, _ in node.units:
                self._index.setdefault(unit, _FIRST_UNIT + len(self._index))
        self._free = {node.name: self._allocatable(node) for node in everything}
        self._log: list[str] = []  # nodes that changed, in order
        self._views: dict[tuple[int, str, bool], _View] = {}
        shape, vector = None, ()
        for pod in pods:  # as `_change` does, without a log: nobody has looked yet
            if pod.shape is not shape:
                shape, vector = pod.shape, self._vector(pod.shape)
            free = self._free.get(pod.node)
            if free is not None:
                for at, amount in vector:
                    free[at] -= amount

    def give(self, pods: Iterable[Pod]) -> None:
        """The pods are gone."""
        for pod in pods:
            self._change(pod.node, pod.shape, 1)

    def take(self, pods: Iterable[Pod]) -> None:
        """They are there after all."""
        for pod in pods:
            self._change(pod.node, pod.shape, -1)

    def occupy(self, places: Places) -> None:
        """Pods are placed."""
        for node, shape, count in places:
            self._change(node, shape, -count)

    def nodes_for(self, ask: Ask) -> Collection[str]:
        """The nodes on which one of its pods may be, full or not."""
        nodes = [self._view(shape, ask.pool, booting=False).domains for shape, _ in ask.pods]
        return nodes[0] if len(nodes) == 1 else set[str]().union(*nodes)

    def enough_for(self, ask: Ask) -> Callable[[Mapping[str, int], int], bool]:
        """Whether some units, freed by a number of pods, could be enough at the very best."""
        (shape, count), *others = ask.pods
        if others:
            return lambda _units, _pods: True
        view = self._view(shape, ask.pool, booting=False)
        # By one unit alone: what is plentiful on the nodes need not be freed, nor what another resource holds up.
        missing = [
            (
                unit,
                each,
                count - sum(max(0, self._free[name][self._index[unit]]) // each for name in view.places),
            )
            for unit, each in shape.units
        ]

        def enough(units: Mapping[str, int], pods: int) -> bool:
            return all(
                (units.get(unit, 0) + pods * (each - 1)) // each >= lacking for unit, each, lacking in missing
            )

        return enough

    def fits(self, ask: Ask, *, booting: bool = False) -> bool:
        """Whether all of it surely fits, on nodes that are there or (`booting`) on their way too."""
        if len(ask.pods) == 1:
            (shape, count) = ask.pods[0]
            return self._count(ask, shape, booting=booting) >= count
        return all(
            self._view(shape, ask.pool, booting=booting).total - self._lost_to_others(shape, ask) >= count
            for shape, count in ask.pods
        )

    def might_fit(self, ask: Ask) -> bool:
        """Whether pods of several shapes fit in one order at least: the most demanding first, on the fullest nodes."""
        placed: list[tuple[str, Shape]] = []
        order = sorted(ask.pods, key=lambda each: self._view(each[0], ask.pool, booting=False).total)
        for shape, count in order:
            for _ in range(count):
                view = self._view(shape, ask.pool, booting=False)
                node = min(((places, name) for name, places in view.places.items() if places), default=None)
                if node is not None:
                    placed.append((node[1], shape))
                    self._change(node[1], shape, -1)
        for name, shape in placed:
            self._change(name, shape, 1)
        return len(placed) == ask.count

    def most(self, ask: Ask) -> int:
        """How many of its pods surely fit: any number where they have one shape, else all or none."""
        if len(ask.pods) == 1:
            (shape, count) = ask.pods[0]
            return min(count, self._count(ask, shape, booting=False))
        return ask.count if self.fits(ask) else 0

    def places(self, ask: Ask, *, booting: bool = False) -> Places:
        """Where it fits: the fullest nodes first, by name. Only for what `fits`."""
        found: list[tuple[str, Shape, int]] = []
        for shape, count in ask.pods:
            for node, here in self._choose(ask, shape, count, booting=booting):
                found.append((node, shape, here))
                self._change(node, shape, -here)
        for node, shape, here in found:
            self._change(node, shape, here)
        return tuple(found)

    def reachable(self, ask: Ask, pool: str, nodes: Iterable[str]) -> bool:
        """Whether one of its pods would fit on one of the nodes of a pool now."""
        for shape, _ in ask.pods:
            view = self._view(shape, pool, booting=False)
            if any(view.places.get(node) for node in nodes):
                return True
        return False

    def _count(self, ask: Ask, shape: Shape, *, booting: bool) -> int:
        view = self._view(shape, ask.pool, booting=booting)
        if shape.apart_on:
            taken = self._beside(ask, shape.apart_on)
            return len({view.domains[node] for node, places in view.places.items() if places} - taken)
        if shape.together_on:
            sums = _by_domain(view)
            bound = self._beside(ask, shape.together_on)
            return max(
                (places for domain, places in sums.items() if not bound or bound == {domain}), default=0
            )
        return view.total

    def _choose(self, ask: Ask, shape: Shape, count: int, *, booting: bool) -> Iterable[tuple[str, int]]:
        view = self._view(shape, ask.pool, booting=booting)
        order = sorted((places, node) for node, places in view.places.items() if places)
        taken = self._beside(ask, shape.apart_on) if shape.apart_on else set[str]()
        only = ""
        if shape.together_on:
            sums = _by_domain(view)
            bound = self._beside(ask, shape.together_on)
            fitting = [
                (places, domain)
                for domain, places in sums.items()
                if places >= count and (not bound or bound == {domain})
            ]
            only = min(fitting)[1]
        for places, node in order:
            domain = view.domains[node]
            if not count or domain in taken or (only and domain != only):
                continue
            here = min(count, 1 if shape.apart_on else places)
            count -= here
            if shape.apart_on:
                taken.add(domain)
            yield node, here

    def _beside(self, ask: Ask, label: str) -> set[str]:
        """The values of a label where pods of the workload run already; "" where one has none."""
        known = (self._nodes.get(node) for node in ask.beside)
        return {node.labels.get(label, "") if node is not None else "" for node in known}

    def _lost_to_others(self, shape: Shape, ask: Ask) -> int:
        """The most places of the shape that the ask's other pods can take, wherever they are placed.

        A resource that is plentiful on every node with places, even with all of the others there, takes none.
        """
        view = self._view(shape, ask.pool, booting=False)
        others = [(self._vector(other), count) for other, count in ask.pods if other is not shape]
        lost = [0] * len(others)
        for at, mine in view.vector:
            theirs = [dict(vector).get(at, 0) for vector, _ in others]
            all_of_them = sum(amount * count for amount, (_, count) in zip(theirs, others, strict=True))
            if all_of_them and any(
                (self._free[name][at] - all_of_them) // mine < places
                for name, places in view.places.items()
                if places
            ):
                lost = [max(each, -(-amount // mine)) for each, amount in zip(lost, theirs, strict=True)]
        return sum(each * count for each, (_, count) in zip(lost, others, strict=True))

    def _view(self, shape: Shape, pool: str, *, booting: bool) -> _View:
        key = (id(shape), pool, booting)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = self._new_view(shape, pool, booting=booting)
        elif view.seen < len(self._log):
            for name in self._log[view.seen :]:
                if name in view.places:
                    places = _places(self._free[name], view.vector)
                    view.total += places - view.places[name]
                    view.places[name] = places
            view.seen = len(self._log)
        return view

    def _new_view(self, shape: Shape, pool: str, *, booting: bool) -> _View:
        vector, label = self._vector(shape), shape.apart_on or shape.together_on
        nodes = [*self._nodes.values(), *self._coming.values()] if booting else self._nodes.values()
        domains = {
            node.name: node.labels.get(label, "") if label else ""
            for node in nodes
            if node.pool == pool
            and node.ready
            and node.schedulable
            and (not label or label in node.labels)
            and allowed(shape, node.name, node.labels, node.taints)
        }
        places = {name: _places(self._free[name], vector) for name in domains}
        return _View(vector, domains, places, sum(places.values()), len(self._log))

    def _vector(self, shape: Shape) -> Vector:
        known = self._vectors.get(id(shape))
        if known is None:
            units = [
                (self._index.setdefault(unit, _FIRST_UNIT + len(self._index)), n) for unit, n in shape.units
            ]
            amounts = [(_CPU, shape.cpu_milli), (_MEMORY, shape.memory_mib), (_PODS, 1), *units]
            known = (shape, tuple((at, amount) for at, amount in amounts if amount))
            self._vectors[id(shape)] = known  # it keeps the shape, so that its id is nobody else's
        return known[1]

    def _allocatable(self, node: Node) -> defaultdict[int, int]:
        free = defaultdict(int, {_CPU: node.cpu_milli, _MEMORY: node.memory_mib, _PODS: node.most_pods})
        free.update({self._index[unit]: count for unit, count in node.units})
        return free

    def _change(self, name: str, shape: Shape, pods: int) -> None:
        free = self._free.get(name)
        if free is None:  # a pod on a node that is not known frees nothing
            return
        for at, amount in self._vector(shape):
            free[at] += pods * amount
        self._log.append(name)


def _places(free: Mapping[int, int], vector: Vector) -> int:
    return max(0, min(free.get(at, 0) // amount for at, amount in vector))


def _by_domain(view: _View) -> dict[str, int]:
    sums: dict[str, int] = {}
    for node, places in view.places.items():
        domain = view.domains[node]
        sums[domain] = sums.get(domain, 0) + places
    return sums
