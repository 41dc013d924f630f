"""`quartermaster doctor`: is all that the parts need there, and if not, what to do."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms

if TYPE_CHECKING:
    from cli.checkup.line import Line
    from quartermaster.config.model import Configuration


class Part(StrEnum):
    """Whose rights are asked about: in a cluster each part has an account of its own."""

    collector = "collector"
    enforcer = "enforcer"


@dataclass(frozen=True)
class _How:
    """What is looked at, and who hears of it as it begins."""

    begun: Callable[[str], None]
    part: str
    quick: bool


def doctor(
    context: typer.Context,
    *,
    part: Annotated[
        Part | None, typer.Option("--part", help="Ask about this part's rights alone: whose account it is.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the checks of the ledger's rows, which read all of it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Look at everything that Quartermaster needs, and say what to do about what is not in order.

    The configuration, versions, disks, every exporter, Prometheus and API server with their clocks, the rights of
    each part there, the ledger and its rows, mail servers, the sign-in. It changes nothing and sends nothing. Exit
    code 1: a part cannot do its work; warnings alone are 0.

    \b
    Examples:
      quartermaster doctor
      quartermaster doctor --quick
      quartermaster doctor --part collector    in its pod
      quartermaster doctor --json | jq '.lines[] | select(.state != "ok")'
    """
    from cli.checkup.line import State

    file = session(context).config_path()
    with output.progress() as bar:
        task = bar.add_task("looking", total=None)
        how = _How(lambda what: bar.update(task, description=what), f"the {part}" if part else "", quick)
        lines = list(_lines(file, how))
    if as_json:
        output.emit_json(
            {"ok": all(each.state != State.trouble for each in lines), "lines": list(map(asdict, lines))}
        )
    else:
        _show(lines)
    raise typer.Exit(int(any(each.state == State.trouble for each in lines)))


def _lines(file: Path, how: _How) -> "Iterator[Line]":
    from cli.checkup.line import ok, trouble, warning
    from cli.checkup.machine import versions
    from quartermaster.config.load import check_configuration

    yield from versions()
    loaded = check_configuration(file, os.environ)
    for problem in loaded.problems:
        say = trouble if problem.severity == "error" else warning
        yield say("configuration", str(problem), "correct it there; docs/configuration.md has every key")
    if loaded.configuration is None:
        return
    yield ok("configuration", f"{file} can be used")
    yield from _of(loaded.configuration, file, how)


def _of(configuration: "Configuration", file: Path, how: _How) -> "Iterator[Line]":
    from cli.checkup.exporters import exporters
    from cli.checkup.host import host
    from cli.checkup.kubernetes import kubernetes
    from cli.checkup.ledger import ledger
    from cli.checkup.line import looked
    from cli.checkup.machine import disks
    from cli.checkup.mail import mail
    from cli.checkup.prometheus import prometheus
    from cli.checkup.sign_in import sign_in
    from cli.sources import asked

    yield from disks(configuration)
    for part in configuration.clusters:
        name = part.name
        how.begun(name)
        if part.dcgm.targets or part.dcgm.file_sd or part.dcgm.dns_srv:
            folder = file.absolute().parent
            yield from looked(f"exporters of {name}", lambda p=part, f=folder: exporters(p, f))
        if part.kubernetes is not None:
            of = part.kubernetes
            yield from looked(
                f"Kubernetes of {name}", lambda p=part, k=of: kubernetes(p, k, configuration, how.part)
            )
        if part.prometheus is not None:
            settings = part.prometheus
            yield from looked(f"Prometheus of {name}", lambda p=part, s=settings: prometheus(p, s))
        if part.nvml is not None:
            yield from looked(f"GPUs of {name}", lambda p=part: host(p))
    how.begun("the ledger")
    sources = asked(configuration)
    yield from looked(
        "ledger", lambda: ledger(configuration, sources, now_ms(), quick=how.quick, begun=how.begun)
    )
    how.begun("mail")
    yield from mail(configuration)
    yield from looked("sign-in", lambda: sign_in(configuration.dashboards))


def _show(lines: "list[Line]") -> None:
    """A table that fits: what is in order in a line, and beneath what is not the next step."""
    from cli.checkup.line import State

    rows: list[tuple[str, str, str]] = []
    for each in lines:
        rows.append((each.state.value, each.subject, each.words))
        if each.todo:
            rows.append(("", "  what to do", each.todo))
    output.table("", ["", "what", "found"], rows)
    counted = {state: sum(each.state == state for each in lines) for state in State}
    output.say(", ".join(f"{state.value}: {count}" for state, count in counted.items()))
