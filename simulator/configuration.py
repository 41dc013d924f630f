"""The configuration of a simulated cluster: the quartermaster.yaml that a person would write for it."""

import json
from collections.abc import Sequence

from quartermaster.clock import DAY_MS, HOUR_MS, to_iso
from simulator.cluster import Script
from simulator.replay import TEAMS as REPLAYED_TEAMS
from simulator.replay import Replay
from simulator.teams import TEAMS, Promise, Rule

FIRST_LINE = "# A simulated cluster. Change what you like; `quartermaster config check` tells what is wrong."
PRICES = (
    ("*H100*", "3.10", "2.85"),
    ("*A100*", "1.95", "1.80"),
    ("*L40S*", "1.10", "1.10"),
    ("*T4*", "0.35", "0.32"),
)
REPLAYED_PRICES = {"P100": "0.60", "T4": "0.35", "V100M16": "0.90", "V100M32": "1.10", "A10": "0.70"}


def price_change_ms(start_ms: int, end_ms: int) -> int:
    """When the second rate card comes into force: at 10:00 UTC of a day in the middle of the span."""
    middle = start_ms + (end_ms - start_ms) // 2
    return middle - middle % DAY_MS + 10 * HOUR_MS


def of_cluster(script: Script, base_url: str, end_ms: int, holders: str) -> str:
    """The text of a quartermaster.yaml whose targets are `<base_url>/<node>/metrics`.

    `holders`: who is believed about who holds a GPU, kubernetes or labels.
    """
    change = price_change_ms(script.start_ms, end_ms)
    cluster = script.fleet.cluster
    targets = [
        f'        - {{url: "{base_url}/{machine.name}/metrics", node: {machine.name}}}'
        for machine in script.fleet.machines
    ]
    pools = dict.fromkeys((machine.plan.pool, machine.plan.model.name) for machine in script.fleet.machines)
    lines = [
        FIRST_LINE,
        "ledger: {path: ledger}",
        "business: {time_zone: Europe/Berlin, currency: EUR}",
        "clusters:",
        f"  - name: {cluster}",
        f"    holders: {holders}",
        "    dcgm:",
        "      interval: 30s",
        "      timeout: 5s",
        "      targets:",
        *targets,
        "pools:  # the first that matches wins",
        *(f'  - {{name: {pool}, models: ["{model}"]}}' for pool, model in pools),
        "teams:",
        *(
            f'  - {{name: {team.name}, department: {team.department}, cost_centre: "{team.cost_centre}"}}'
            for team in TEAMS
        ),
        "team_rules:  # the first that matches wins; what nothing matches is unassigned",
        *(_rule(rule) for rule in script.rules),
        "guarantees:",
        *(_promise(promise) for promise in script.promises),
        "rate_cards:",
        *_card("list", script.start_ms - 180 * DAY_MS, 1),
        *_card("negotiated", change, 2),
        "thresholds:  # at or above its floor a device computes",
        "  - {signal: gr_engine, floor: 0.02}",
        "  - {signal: gpu_util, floor: 0.02}",
        "  - {signal: sm, floor: 0.02}",
        '  - {signal: power, floor: 140, model: "*H100*"}',
        '  - {signal: power, floor: 105, model: "*A100*"}',
        '  - {signal: power, floor: 120, model: "*L40S*"}',
        '  - {signal: power, floor: 45, model: "*T4*"}',
    ]
    return "\n".join(lines) + "\n"


def of_replay(replay: Replay) -> str:
    """The text of a quartermaster.yaml for a replayed trace; promises are four fifths of each pool."""
    sizes: dict[str, int] = {}
    for node in replay.trace.nodes:
        sizes[node.model] = sizes.get(node.model, 0) + node.gpus
    promises = [
        Promise(team, model, size * weight * 4 // (5 * sum(REPLAYED_TEAMS.values())))
        for model, size in sorted(sizes.items())
        for team, weight in REPLAYED_TEAMS.items()
    ]
    promises = [promise for promise in promises if promise.gpus]
    lines = [
        "# A replayed trace. Teams, owners, placement and activity are synthesized.",
        "ledger: {path: ledger}",
        "business: {time_zone: UTC, currency: EUR}",
        "clusters:",
        f"  - {{name: {replay.cluster}, holders: kubernetes}}",
        "pools:",
        *(f"  - {{name: {_text(model)}, models: [{_text(model)}]}}" for model in sorted(sizes)),
        "teams:",
        *(f"  - {{name: {team}}}" for team in REPLAYED_TEAMS),
        "team_rules:",
        *(_rule(Rule(team, namespace=f"{team}-work")) for team in REPLAYED_TEAMS),
        "guarantees:" if promises else "guarantees: []",
        *(_promise(promise) for promise in promises),
        "rate_cards:",
        "  - card: replay",
        f"    from: {to_iso(replay.start_ms - DAY_MS)}",
        "    prices:",
        *(f'      - {{model: "{model}", gpu_hour: "{price}"}}' for model, price in REPLAYED_PRICES.items()),
        '      - {gpu_hour: "1.00"}',
    ]
    return "\n".join(lines) + "\n"


def _rule(rule: Rule) -> str:
    parts = [f"team: {rule.team}"]
    if rule.namespace:
        parts.append(f'namespace: "{rule.namespace}"')
    if rule.label is not None:
        parts.append(f'label: {{key: {rule.label[0]}, value: "{rule.label[1]}"}}')
    if rule.user:
        parts.append(f'user: "{rule.user}"')
    return f"  - {{{', '.join(parts)}}}"


def _promise(promise: Promise) -> str:
    limit = "" if promise.limit_gpus is None else f", limit: {promise.limit_gpus}"
    weight = "" if promise.weight == 1 else f", weight: {promise.weight}"
    return f"  - {{team: {promise.team}, pool: {_text(promise.pool)}, gpus: {promise.gpus}{limit}{weight}}}"


def _card(name: str, from_ms: int, column: int) -> Sequence[str]:
    return [
        f"  - card: {name}",
        "    currency: EUR",
        "    author: finance",
        f"    from: {to_iso(from_ms)}",
        "    prices:",
        *(f'      - {{model: "{price[0]}", gpu_hour: "{price[column]}"}}' for price in PRICES),
        '      - {gpu_hour: "1.00"}  # whatever else there may be',
        "    unallocated: own",
        "    unavailable: own",
        "    unobserved: own",
    ]


def _text(name: str) -> str:
    """A name as YAML reads it back, whatever is in it."""
    return json.dumps(name, ensure_ascii=False)
