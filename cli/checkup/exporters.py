"""Exporters: whether each of a cluster's pages comes, is one of dcgm-exporter, and by which clock."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cli.checkup.line import Line, clock_line, ok, trouble, warning
from collector.dcgm.fetch import Failure, Fetched, Fetcher
from collector.discovery import Discovery
from collector.kubernetes.clocks import APART_MS, ServerClock
from collector.targets import Target
from quartermaster.clock import now_ms
from quartermaster.config.clusters import ClusterPart
from quartermaster.text import visible

_AT_ONCE, _NAMED = 64, 3
_OURS = b"DCGM_FI_"
_MEANT = {
    "refused": "start dcgm-exporter there, or correct clusters.dcgm",
    "no such host": "correct the name in clusters.dcgm, or the name server",
    "timeout": "see to the network between them, or give clusters.dcgm.timeout more",
    "tls": "name its certificate authority: clusters.dcgm.tls.ca_file",
    "status 401": "give clusters.dcgm a bearer_token or basic_auth",
    "status 403": "give clusters.dcgm a bearer_token or basic_auth that may read",
    "status 404": "the path of the page is another: /metrics?",
}
_ELSE = "fetch it by hand: curl -sS URL | head"


def exporters(part: ClusterPart, folder: Path) -> Iterator[Line]:
    """What the exporters of a cluster answer. Raises ConfigurationError for credentials that cannot be used."""
    subject = f"exporters of {part.name}"
    complaints: list[str] = []
    found, bounds = asyncio.run(_visit(part, folder, complaints))
    for words in complaints:
        yield warning(
            subject, words, "correct clusters.dcgm.file_sd or dns_srv; the last good answer counts meanwhile"
        )
    if not found:
        yield trouble(subject, "there is no target", "name some: clusters.dcgm.targets, file_sd or dns_srv")
        return
    failed = {target: answer for target, answer in found.items() if isinstance(answer, Failure)}
    reasons = Counter(answer.reason for answer in failed.values())
    for reason, count in reasons.most_common():
        named = [visible(target.name) for target, answer in failed.items() if answer.reason == reason]
        more = f" and {count - _NAMED} more" if count > _NAMED else ""
        say = trouble if len(failed) == len(found) else warning
        yield say(subject, f"{reason}: {', '.join(named[:_NAMED])}{more}", _MEANT.get(reason, _ELSE))
    strange = [
        visible(target.name)
        for target, answer in found.items()
        if isinstance(answer, Fetched) and _OURS not in answer.body
    ]
    if strange:
        yield warning(
            subject,
            f"no metric of dcgm-exporter is on {', '.join(strange[:_NAMED])}",
            "see whether the address is an exporter's, and whether its node has a GPU",
        )
    good = len(found) - len(failed) - len(strange)
    if good:
        yield ok(subject, f"{good} of {len(found)} give their page")
    apart = {name: told for name, told in bounds.items() if told[0] > APART_MS or told[1] < -APART_MS}
    for name, told in list(apart.items())[:_NAMED]:
        yield from clock_line(subject, visible(name), told, APART_MS)
    if bounds and not apart:
        yield ok(subject, f"their clocks and this machine's are one, to {APART_MS / 1000:g} s")


async def _visit(
    part: ClusterPart, folder: Path, complaints: list[str]
) -> tuple[dict[Target, Fetched | Failure], dict[str, tuple[int, int]]]:
    """Every target's answer, and the bounds of its clock against ours."""
    discovery = Discovery(part, folder, lambda source, what: complaints.append(f"{source}: {what}"))
    targets = await discovery.targets()
    bounds: dict[str, tuple[int, int]] = {}
    gate = asyncio.Semaphore(_AT_ONCE)
    async with Fetcher(part.dcgm) as fetcher:

        async def visit(target: Target) -> Fetched | Failure:
            async with gate:
                sent_ms = now_ms()
                answer = await fetcher.fetch(target)
            if isinstance(answer, Fetched):
                clock = ServerClock()
                clock.observe(sent_ms, now_ms(), answer.date)
                told = clock.bounds()
                if told is not None:
                    bounds[target.name] = told
            return answer

        answers = await asyncio.gather(*(visit(target) for target in targets))
    return dict(zip(targets, answers, strict=True)), bounds
