"""The parts that one machine runs: what each is called, how it is started, and where it tells of its health."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration

ENFORCER, METRICS, ROLLUP, REPORTS, FINDINGS = (
    f"127.0.0.1:{port}" for port in (9501, 9502, 9503, 9504, 9506)
)


@dataclass(frozen=True)
class Part:
    """A part: the sub-command that is it, and the page that says whether it lives."""

    name: str
    arguments: tuple[str, ...]
    health: str


def parts_of(configuration: "Configuration") -> tuple[Part, ...]:
    """What the configuration has work for, the collector first: it makes the ledger that the others open."""
    collector = Part("collect", ("collect",), f"http://{_reached(configuration.collector.listen)}/healthz")
    found = [
        collector,
        Part("rollup", ("rollup", "--every", "5m", "--listen", ROLLUP), f"http://{ROLLUP}/healthz"),
        Part("findings", ("findings", "--every", "10m", "--listen", FINDINGS), f"http://{FINDINGS}/healthz"),
        _enforcer(configuration),
        Part(
            "dashboard",
            ("dashboard", "--no-browser"),
            f"http://{_reached(configuration.dashboards.listen)}/_stcore/health",
        ),
        Part("metrics", ("serve", "metrics", "--listen", METRICS), f"http://{METRICS}/metrics"),
    ]
    if configuration.reports.sending:
        arguments = ("report", "send", "--listen", REPORTS)
        found.append(Part("reports", arguments, f"http://{REPORTS}/healthz"))
    return tuple(found)


def _enforcer(configuration: "Configuration") -> Part:
    """In shadow, by the ledger; where the policy lets it do what people approve, by the cluster. Acting by itself is
    asked for by hand alone."""
    acting = configuration.policy.acting
    if acting.mode == "shadow" or all(each.kubernetes is None for each in configuration.clusters):
        return Part("enforce", ("enforce", "--watch", "--listen", ENFORCER), f"http://{ENFORCER}/healthz")
    health = f"http://{_reached(acting.listen)}/metrics" if acting.listen else ""
    return Part("enforce", ("enforce", "--plan"), health)


def _reached(listen: str) -> str:
    """Where this machine reaches what listens there: every address is also this machine's own."""
    host, _, port = listen.rpartition(":")
    return f"{'127.0.0.1' if host in {'', '0.0.0.0', '[::]'} else host}:{port}"  # noqa: S104 - compared, not bound
