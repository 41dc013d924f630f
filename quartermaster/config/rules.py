"""The configuration's pools and team rules, as the values that decide."""

from quartermaster.config.model import Configuration
from quartermaster.pool import PoolRule
from quartermaster.team import Rule


def pools_of(configuration: Configuration) -> tuple[PoolRule, ...]:
    """Which nodes are in which pool, in order."""
    return tuple(
        PoolRule(each.name, tuple(each.models), dict(each.node_labels)) for each in configuration.pools
    )


def rules_of(configuration: Configuration) -> tuple[Rule, ...]:
    """Which team an allocation is of, in order."""
    return tuple(
        Rule(
            team=each.team,
            cluster=each.cluster,
            namespace=each.namespace,
            label_key=each.label.key if each.label else None,
            label_value=each.label.value if each.label else "*",
            user=each.user,
            unix_user=each.unix_user,
            unix_group=each.unix_group,
            start_at=each.start_at,
            end_at=each.end_at,
        )
        for each in configuration.team_rules
    )
