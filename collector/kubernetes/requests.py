"""What a pod's spec asks for: the effective request over its containers, as the scheduler counts it."""

from collections.abc import Callable
from fractions import Fraction

from collector.kubernetes.values import Json, mapping, objects, quantity

Amounts = dict[str, Fraction]


def effective_request(spec: Json, wanted: Callable[[str], bool]) -> Amounts:
    """The amounts that are reserved for the pod's whole life, by resource.

    max(Σ containers + Σ sidecars, max over init containers i of (i + Σ sidecars declared before i)): as
    AggregateContainerRequests of k8s.io/component-helpers does. A pod-level request takes the place of the
    containers' (CPU and memory only: the API refuses others), and the overhead is added.
    """
    main: Amounts = {}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in objects(spec.get("containers")):
        _add(main, _request(container, wanted))
    for container in objects(spec.get("initContainers")):
        own = _request(container, wanted)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, own)
            own = {}
        for name in own.keys() | sidecars.keys():
            peak[name] = max(peak.get(name, Fraction()), own.get(name, Fraction()) + sidecars.get(name, 0))
    _add(main, sidecars)
    total = {name: max(main.get(name, Fraction()), peak.get(name, Fraction())) for name in main | peak}
    total |= {n: amount for n, amount in _request(spec, wanted).items() if n in {"cpu", "memory"}}
    _add(total, _amounts(spec.get("overhead"), wanted))
    return total


def _request(holder: Json, wanted: Callable[[str], bool]) -> Amounts:
    """A container's request; where only a limit is given, the API takes it for the request."""
    resources = mapping(holder.get("resources"))
    return _amounts(resources.get("limits"), wanted) | _amounts(resources.get("requests"), wanted)


def _amounts(given: object, wanted: Callable[[str], bool]) -> Amounts:
    found: Amounts = {}
    for name, value in mapping(given).items():
        if wanted(name):
            amount = quantity(value)
            if amount is not None and amount > 0:
                found[name] = amount
    return found


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction()) + amount
