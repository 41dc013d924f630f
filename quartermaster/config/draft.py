"""A first configuration from what was found of a cluster, with comments that say what to change: a text (pure)."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_MOST_TEAMS, _LONGEST = 100, 63  # Kubernetes has no longer namespace


@dataclass(frozen=True)
class Exporters:
    """Where telemetry is fetched: pages by address, and names of SRV records."""

    targets: tuple[str, ...] = ()
    dns_srv: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What was found of one cluster: GPU models, namespaces whose pods have GPUs, exporters."""

    models: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    exporters: Exporters = Exporters()

    def __or__(self, other: "Found") -> "Found":
        """Both: exporters of the first that knows any."""
        known = self.exporters if self.exporters != Exporters() else other.exporters
        return Found(self.models | other.models, self.namespaces | other.namespaces, known)


@dataclass(frozen=True)
class Kubernetes:
    """How its API server is reached: by a kubeconfig's context, or from a pod inside."""

    kubeconfig: str = ""
    context: str = ""
    in_cluster: bool = False


@dataclass(frozen=True)
class Draft:
    """All that the first configuration says."""

    cluster: str
    time_zone: str = "UTC"
    currency: str = "EUR"
    kubernetes: Kubernetes | None = None
    prometheus: str = ""
    found: Found = field(default_factory=Found)


def fit_name(text: str) -> str:
    """A cluster's name as near to the text as one may be."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:63].strip("-._") or "main"


def written(draft: Draft) -> str:
    """The text. Names that were found are quoted, and stand in no comment."""
    return "\n".join((*_head(draft), *_cluster(draft), *_pools(draft), *_teams(draft), *_money(draft))) + "\n"


def _head(draft: Draft) -> Iterable[str]:
    yield "# Quartermaster's configuration. docs/configuration.md has every key; what is wrong is said by"
    yield "#   quartermaster config check, and what does not answer by: quartermaster doctor"
    yield "ledger: {path: ledger}             # a folder beside this file"
    yield "business:"
    yield f"  time_zone: {_text(draft.time_zone)}    # whose midnights end a day"
    yield f"  currency: {_text(draft.currency)}"


def _cluster(draft: Draft) -> Iterable[str]:
    exporters = draft.found.exporters
    yield ""
    yield "clusters:"
    yield f"  - name: {_text(draft.cluster)}                     # another name is another cluster"
    if draft.kubernetes is None:
        yield "    holders: labels                # who holds a GPU is read from the exporters' pod labels"
    else:
        yield "    holders: kubernetes            # who holds a GPU is measured by the API server"
        yield f"    kubernetes: {_kubernetes(draft.kubernetes)}"
    if exporters.dns_srv or exporters.targets:
        yield "    dcgm:"
    else:
        yield "    dcgm:                          # none was found: name your dcgm-exporters, one a node"
        yield '      targets: []                  # ["http://node-1:9400/metrics"]'
    if exporters.dns_srv:
        yield f"      dns_srv: {_list(exporters.dns_srv)}    # asked again all the time; inside the cluster"
    if exporters.targets:
        yield "      targets:"
        yield from (f"        - {_text(each)}" for each in exporters.targets)
    if draft.prometheus:
        yield "    # its history: quartermaster backfill"
        yield f"    prometheus: {{url: {_text(draft.prometheus)}}}"


def _kubernetes(how: Kubernetes) -> str:
    if how.in_cluster:
        return "{in_cluster: true}"
    told = {"kubeconfig": how.kubeconfig, "context": how.context}
    return "{" + ", ".join(f"{key}: {_text(value)}" for key, value in told.items() if value) + "}"


def _pools(draft: Draft) -> Iterable[str]:
    yield ""
    models = sorted(draft.found.models)
    if not models:
        yield 'pools: []                          # [{name: training, models: ["*H100*"]}]'
        return
    yield "# A pool is the nodes of one model and purpose: divide them by node_labels where they have purposes."
    yield "pools:"
    for name, model in zip(_pool_names(models), models, strict=True):
        yield f"  - {{name: {_text(name)}, models: [{_text(_literal(model))}]}}"


def _pool_names(models: Sequence[str]) -> Sequence[str]:
    """A short name a model, each once."""
    names: list[str] = []
    for model in models:
        name = fit_name(re.sub(r"^(NVIDIA|Tesla)[ -]+", "", model, flags=re.IGNORECASE)).lower()
        number = 2
        one = name
        while one in names:
            one, number = f"{name}-{number}", number + 1
        names.append(one)
    return names


def _teams(draft: Draft) -> Iterable[str]:
    namespaces = sorted(each for each in draft.found.namespaces if len(each) <= _LONGEST)[:_MOST_TEAMS]
    yield ""
    yield "# Who pays. The first rule that matches decides; what none matches is the team `unassigned`."
    if not namespaces:
        yield "teams: []                          # [{name: vision, department: research}]"
        yield 'team_rules: []                     # [{team: vision, namespace: "vision-*"}]'
    else:
        yield "# Here each namespace that has GPUs now is a team: give them their names and departments."
        yield "teams:"
        yield from (f"  - {{name: {_text(each)}}}" for each in namespaces)
        yield "team_rules:"
        yield from (f"  - {{team: {_text(each)}, namespace: {_text(_literal(each))}}}" for each in namespaces)
    yield "guarantees: []                     # what is promised: [{team: vision, pool: training, gpus: 16}]"


def _money(draft: Draft) -> Iterable[str]:
    yield ""
    yield "# What a GPU costs that is held for an hour. 1.00 is nobody's price: write your own."
    yield "rate_cards:"
    yield "  - card: first"
    yield "    prices:"
    for model in sorted(draft.found.models):
        yield f'      - {{model: {_text(_literal(model))}, gpu_hour: "1.00"}}'
    yield '      - {gpu_hour: "1.00"}            # whatever else there may be'


def _literal(text: str) -> str:
    """A pattern that means the text: what patterns refuse stands for one sign."""
    return re.sub(r"[\[\]\\]", "?", text)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """As YAML reads it back, whatever is in it; bare where that is plain."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_/-]*", text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
