"""The words that hold for all clusters: whose a claim is, and the floor of a signal."""

from fnmatch import fnmatchcase
from json import loads
from typing import Any

from tests.usage.history import Told, in_force

FLOORS = {"gr_engine": 20, "gpu_util": 20, "sm": 20, "tensor": 10, "dram": 20, "mem_copy": 20}


class Words:
    """Team rules and thresholds."""

    def __init__(self, told: Told) -> None:
        self.told = told

    def team(self, claim: Any, t: int) -> str:
        labels, patterns = loads(claim.labels), loads(claim.user_patterns)
        for rule in sorted(
            in_force(self.told.rules, "rule_id", t), key=lambda rule: (rule.position, rule.rule_id)
        ):
            if rule.cluster_glob is not None and not fnmatchcase(self.told.cluster, rule.cluster_glob):
                continue
            if rule.namespace_glob is not None and not fnmatchcase(claim.namespace, rule.namespace_glob):
                continue
            if rule.label_key is not None and (
                rule.label_key not in labels
                or not fnmatchcase(labels[rule.label_key], rule.label_glob or "*")
            ):
                continue
            if any(
                wanted is not None and wanted not in patterns
                for wanted in (rule.user_pattern_id, rule.unix_user_pattern_id, rule.unix_group_pattern_id)
            ):
                continue
            return rule.team
        return "unassigned"

    # decision 2: the floor of a signal is that of the most special threshold in force
    def floor(self, signal: str, kind: str, model: str, t: int) -> int | None:
        fitting = [
            x
            for x in in_force(self.told.thresholds, "threshold_id", t)
            if x.signal == signal and fnmatchcase(kind, x.workload_kind) and fnmatchcase(model, x.model)
        ]
        special = min(
            fitting,
            key=lambda x: (
                x.measured_how == "default",
                x.workload_kind == "*",
                -len(x.model.replace("*", "")),
                x.threshold_id,
            ),
            default=None,
        )
        return special.floor if special else FLOORS.get(signal)
