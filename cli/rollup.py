"""`quartermaster rollup`: turn what was collected into usage and charges."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.again import Every, Listen, again
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError
from quartermaster.text import visible

if TYPE_CHECKING:
    from analytics.money.budgets import Alert
    from analytics.money.charges import Charged
    from analytics.money.corrections import Corrected
    from analytics.usage import RolledCluster, RollUp
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

BY_LABELS = "labels"


def rollup(
    context: typer.Context,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Write every hour anew.")] = False,
    clusters: Annotated[
        list[str] | None, typer.Option("--cluster", help="Only this cluster; may be repeated.")
    ] = None,
    every: Every = "",
    listen: Listen = "",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Write the usage of the hours that all sources have passed, and what it costs.

    What came late writes its hours anew; in a closed period it becomes corrections, in the open one. Repeated, it
    changes nothing.

    \b
    Examples:
      quartermaster rollup                  what is new, of all clusters
      quartermaster rollup --cluster demo   of one cluster
      quartermaster rollup --all            every hour anew
      quartermaster rollup --every 5m       a service
    """

    def work() -> None:
        _roll_up(session(context).config_path(), clusters, everything=everything, as_json=as_json)

    if not every:
        work()
        return
    if everything:
        raise InputError("--every and --all do not go together", "give --all alone, once")
    again("rollup", every, listen, work)


def _roll_up(file: Path, clusters: list[str] | None, *, everything: bool, as_json: bool) -> None:
    from analytics.money.budgets import burn_down, record_alerts
    from analytics.money.charges import charge
    from analytics.money.corrections import correct
    from analytics.money.periods import calendar_of
    from analytics.usage import roll_up
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured
    from sql.declare import declare

    configuration = load_configuration(file, os.environ)
    time_zone, now = configuration.business.time_zone, now_ms()
    with (
        open_configured(configuration) as ledger,
        output.progress() as bar,
    ):
        declared = declare(ledger, configuration, now)
        read = _read_labels(ledger, configuration, clusters, now)
        task = bar.add_task("rolling up", total=None)

        def tell(cluster: str, done: int, total: int) -> None:
            bar.update(task, description=f"rolling up {visible(cluster)}", completed=done, total=total)

        rolled = roll_up(ledger, now, time_zone, clusters, tell, everything=everything)
        bar.update(task, description="charging", total=None)
        charged = charge(ledger, now, time_zone, everything=everything)
        corrected = correct(ledger, now, time_zone)
        with ledger.reading() as cursor:
            burns = burn_down(cursor, calendar_of(configuration.business).at(now), now)
        alerts = record_alerts(ledger, burns, now)
    if as_json:
        output.emit_json(
            _as_value(declared, read, rolled=rolled, charged=charged, corrected=corrected, alerts=alerts)
        )
        return
    for sentence in declared:
        output.say(sentence)
    for cluster, records in read.items():
        output.say(f"{cluster}: {records:,} records of devices and their holders read from telemetry")
    for cluster in rolled.clusters:
        output.say(_sentence(cluster))
    if not rolled.clusters:
        output.say(
            "there is nothing to roll up: the ledger knows no node yet; quartermaster collect fills it"
        )
    output.say(
        f"charges: {len(charged.changed_days)} business days written anew, {len(charged.days)} looked at"
    )
    if corrected.lines:
        output.say(
            f"corrections: {corrected.lines} lines; data came late for {len(corrected.days)} days of closed periods"
        )
    for alert in alerts:
        output.say(alert.words)


def _read_labels(
    ledger: "Ledger", configuration: "Configuration", clusters: list[str] | None, now: int
) -> dict[str, int]:
    """Read pod labels now: all that tells of holders, or which devices a pod of Kubernetes has; how many records."""
    from collector.holders import read_labels
    from collector.kubernetes.meeting import meet
    from collector.kubernetes.seam import join_labels
    from quartermaster.pool import PoolRule

    pools = [PoolRule(pool.name, tuple(pool.models), dict(pool.node_labels)) for pool in configuration.pools]
    found: dict[str, int] = {}
    for cluster in configuration.clusters:
        if clusters and cluster.name not in clusters:
            continue
        read = None
        if cluster.holders == BY_LABELS:
            read = read_labels(ledger, cluster.name, pools, now)
        elif cluster.kubernetes is not None:
            joined = join_labels(ledger, cluster.name, pools, now)
            read = meet(ledger, cluster.name, now)
            if joined is not None:
                found[cluster.name] = sum(joined.records.values())
        if read is not None:
            found[cluster.name] = found.get(cluster.name, 0) + sum(read.records.values())
    return found


def _sentence(cluster: "RolledCluster") -> str:
    if cluster.until_ms is None:
        waits = f"waits for {cluster.slowest}" if cluster.slowest else "no source has a watermark"
        return f"{cluster.cluster}: no hour is complete yet ({waits})"
    hours = f"{cluster.new_hours} new hours" + (
        f" and {cluster.reopened_hours} anew" if cluster.reopened_hours else ""
    )
    written = (
        f"{hours}, {cluster.rows:,} rows of usage"
        if cluster.new_hours or cluster.reopened_hours
        else "nothing new"
    )
    waits = f"; the next hour waits for {cluster.slowest}" if cluster.slowest else ""
    return f"{cluster.cluster}: {written}, complete until {to_iso(cluster.until_ms)}{waits}"


def _as_value(
    declared: list[str],
    read: dict[str, int],
    *,
    rolled: "RollUp",
    charged: "Charged",
    corrected: "Corrected",
    alerts: "list[Alert]",
) -> dict[str, object]:
    return {
        "declared": declared,
        "records_from_telemetry": read,
        "clusters": [
            {
                "cluster": cluster.cluster,
                "new_hours": cluster.new_hours,
                "reopened_hours": cluster.reopened_hours,
                "rows": cluster.rows,
                "until": None if cluster.until_ms is None else to_iso(cluster.until_ms),
                "waits_for": cluster.slowest,
            }
            for cluster in rolled.clusters
        ],
        "charges": {
            "days": list(charged.days),
            "changed_days": list(charged.changed_days),
            "lines": charged.lines,
        },
        "corrections": {"days": list(corrected.days), "lines": corrected.lines},
        "alerts": [alert.words for alert in alerts],
    }
