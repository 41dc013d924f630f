"""`quartermaster report send`: reports that go out by schedule, or into a folder to be looked at."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.again import Listen, again
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import ConfigurationError, InputError, LedgerError

if TYPE_CHECKING:
    from analytics.reports.sending.parcel import Parcel
    from analytics.reports.sending.round import Carry, Outcome
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

_LOOKED_EVERY = "30s"


def send(
    context: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="What is due now, and no more.")] = False,
    preview: Annotated[
        Path | None,
        typer.Option(
            "--preview", help="Write what is sent next, and to whom, into this folder; send nothing."
        ),
    ] = None,
    listen: Listen = "",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Send the reports of reports.sending when they are due, until Ctrl-C.

    Each is sent once: what was sent is in the ledger, and after a pause the last one that was missed is caught up on.
    A channel that does not take one holds up no other, and is tried again. Exit code 1 with --once: one was refused.

    \b
    Examples:
      quartermaster report send                    a service
      quartermaster report send --once             from cron, or to try it
      quartermaster report send --preview letters  what would be sent, and to whom
    """
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    if once and preview is not None:
        raise InputError("--once and --preview do not go together", "--preview sends nothing")
    configuration = load_configuration(session(context).config_path(), os.environ)
    if not configuration.reports.sending:
        raise ConfigurationError(
            "reports.sending names nothing to send", "docs/report.md has an example for the configuration"
        )
    is_read = preview is not None and not configuration.privacy.reports_name_people  # or reading is recorded
    with open_configured(configuration, read_only=is_read) as ledger:
        if preview is not None:
            _preview(ledger, configuration, preview, as_json=as_json)
            return
        if once:
            raise typer.Exit(int(_once(ledger, configuration, as_json=as_json)))
        again("reports", _LOOKED_EVERY, listen, lambda: _round(ledger, configuration, as_json=as_json))


def _once(ledger: "Ledger", configuration: "Configuration", *, as_json: bool) -> bool:
    """One round; whether a letter was refused, or the ledger did not answer."""
    try:
        return _round(ledger, configuration, as_json=as_json)
    except LedgerError as error:
        output.complain(error)
        return True


def _round(ledger: "Ledger", configuration: "Configuration", *, as_json: bool) -> bool:
    """One round, told; whether a letter was refused. Raises LedgerError."""
    from analytics.reports.sending.round import Postman

    outcomes = Postman(ledger, configuration, _carrier(configuration), now_ms).round(now_ms())
    for each in outcomes:
        _tell(each, as_json=as_json)
    return any(each.phase == "refused" for each in outcomes)


def _tell(outcome: "Outcome", *, as_json: bool) -> None:
    if as_json:
        output.emit_line({name: getattr(outcome, name) for name in outcome.__dataclass_fields__})
        return
    whom = f" for {outcome.audience} by {outcome.channel}" if outcome.channel else ""
    output.say(f"{outcome.sending}, {outcome.span}{whom}: {outcome.words}")


def _carrier(configuration: "Configuration") -> "Carry":
    """How a parcel goes out by a channel: its files lie in a folder for as long as it takes."""
    from enforcer.ladder.carried import carry

    channels = {channel.name: channel for channel in configuration.notify.channels}

    def carried(name: str, parcel: "Parcel") -> str:
        channel = channels[name]
        try:
            url = channel.url.reveal()
        except ConfigurationError as error:
            return error.what
        with tempfile.TemporaryDirectory(prefix="quartermaster-") as folder:
            files = _lay(Path(folder), parcel)
            return carry(url, parcel, channel.timeout_ms / 1000, files=files, warns=False)

    return carried


def _lay(folder: Path, parcel: "Parcel") -> Sequence[Path]:
    paths = [folder / name for name in parcel.files]
    for path, content in zip(paths, parcel.files.values(), strict=True):
        path.write_bytes(content)
    return paths


@dataclass(frozen=True)
class _Letter:
    """What would be sent next, by which channel."""

    sending: str
    span: str
    next: str
    audience: str
    channel: str
    files: tuple[str, ...]
    words: str = ""


def _preview(ledger: "Ledger", configuration: "Configuration", folder: Path, *, as_json: bool) -> None:
    letters = list(_letters(ledger, configuration, folder))
    if as_json:
        output.emit_json([asdict(each) for each in letters])
        return
    rows = [
        (
            each.sending,
            each.next[:16].replace("T", " "),
            each.audience,
            each.channel,
            each.words or ", ".join(each.files),
        )
        for each in letters
    ]
    output.table("", ["what", "next, UTC", "for whom", "by", "words and files"], rows)
    output.say(f"{folder}: what they would carry. Nothing was sent.")


def _letters(ledger: "Ledger", configuration: "Configuration", folder: Path) -> Iterator[_Letter]:
    from analytics.reports.made import teams_of
    from analytics.reports.sending.due import last_due, next_due_ms
    from analytics.reports.sending.parcel import addresses
    from analytics.reports.sending.round import packed

    now, time_zone = now_ms(), configuration.business.time_zone
    for sending in configuration.reports.sending:
        due = last_due(sending, now, time_zone)
        wanted = addresses(due, teams_of(ledger, due.span), configuration.notify)
        told = (sending.name, due.span.name, to_iso(next_due_ms(sending, now, time_zone)))
        if not wanted:
            yield _Letter(*told, sending.audience, "", (), "no channel leads to anybody")
        for address, parcel in packed(ledger, due, wanted, configuration, now):
            whom = (address.audience.words, address.channel)
            if isinstance(parcel, str):
                yield _Letter(*told, *whom, (), parcel)
            else:
                yield _Letter(*told, *whom, _written(folder / sending.name, parcel))


def _written(folder: Path, parcel: "Parcel") -> tuple[str, ...]:
    letter = f"{next(iter(parcel.files)).rpartition('.')[0]}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / letter).write_text(f"{parcel.title}\n\n{parcel.body}\n", encoding="utf-8")
        _lay(folder, parcel)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror}", "name another with --preview"
        ) from error
    return letter, *parcel.files
