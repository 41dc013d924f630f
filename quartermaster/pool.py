"""Pools: which pool a node is in, by its GPU model and labels; the first rule that matches decides."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from quartermaster.team import glob_matches


@dataclass(frozen=True, slots=True)
class PoolRule:
    """A pool, and the nodes that are in it: one of the model patterns and every label pattern must fit."""

    name: str
    models: tuple[str, ...] = ("*",)
    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])


def pool_of(rules: Iterable[PoolRule], model: str, node_labels: Mapping[str, str]) -> str:
    """The pool of a node; where no rule matches, the model's own pool (`nvidia-h100-80gb-hbm3`), or
    `unknown`."""
    for rule in rules:
        if any(glob_matches(pattern, model) for pattern in rule.models) and all(
            key in node_labels and glob_matches(pattern, node_labels[key])
            for key, pattern in rule.node_labels.items()
        ):
            return rule.name
    return re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-") or "unknown"
