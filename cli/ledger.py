"""`quartermaster ledger …`: bring it up to date, check it, look after it, back it up and bring it back."""

import contextlib
import time
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

app = typer.Typer(
    no_args_is_help=True, help="Bring the ledger up to date, check it, look after it, back it up."
)
Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@app.command()
def upgrade(context: typer.Context, as_json: Json = False) -> None:
    """Bring the ledger to this program's revision; a ledger that is not there is made.

    All or nothing. Collectors may go on meanwhile: they wait. Make a backup first.

    \b
    Example:
      quartermaster ledger upgrade
    """
    from sql import revision
    from sql.upgrade import upgrade as bring_up

    with _ledger(context, read_only=False, make=True) as ledger:
        before = ledger.revision()
        changed = bring_up(ledger)
    if as_json:
        output.emit_json({"from": before or None, "to": revision.newest(), "changed": changed})
    elif changed:
        told = f"from revision {before}" if before else "from nothing"
        output.say(f"The ledger in {ledger.where} is at revision {revision.newest()} now ({told}).")
    else:
        output.say(f"The ledger in {ledger.where} is at revision {revision.newest()} already.")


@app.command()
def check(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="The checks to run; all without a name.")] = None,
    as_json: Json = False,
) -> None:
    """Look for rows that break a rule. Exit code 1 when there are any.

    Usage is held against what the ledger knows now: run quartermaster rollup before.

    \b
    Examples:
      quartermaster ledger check
      quartermaster ledger check rule_one capacity_of_devices
    """
    from sql import checks

    chosen = names or checks.names()
    with _ledger(context) as ledger, output.progress() as bar:
        task = bar.add_task("checking", total=len(chosen))
        breaches = checks.run(
            ledger, chosen, begun=lambda name: bar.update(task, description=name, advance=1)
        )
    if as_json:
        told = [asdict(breach) | {"rows": breach.rows.to_dicts()} for breach in breaches]
        output.emit_json({"checks": chosen, "broken": told})
    elif not breaches:
        output.say(f"{len(chosen)} checks, no row breaks a rule.")
    for breach in breaches if not as_json else []:
        output.say(f"{breach.check}: {breach.count} rows. {breach.rule}", style="bold")
        output.table("", breach.rows.columns, breach.rows.rows())
    raise typer.Exit(1 if breaches else 0)


@app.command()
def compact(
    context: typer.Context,
    seconds: Annotated[float, typer.Option("--for", help="Stop after about so many seconds.", min=0)] = 600,
    as_json: Json = False,
) -> None:
    """Merge small files, retire old samples, forget old snapshots, remove files that nothing names.

    A collector does the most of it by itself. Readers and writers go on meanwhile.

    \b
    Example:
      quartermaster ledger compact --for 60
    """
    from quartermaster.clock import now_ms
    from sql.retention import Retention
    from sql.upkeep import Step
    from sql.upkeep import compact as look_after

    keep = Retention(tables_ms={"samples": _configuration(context).retention.samples_ms})
    steps: list[Step] = []
    with _ledger(context, read_only=False) as ledger, output.progress() as bar:
        task = bar.add_task("compacting", total=None)

        def done(step: Step) -> None:
            steps.append(step)
            bar.update(task, description=f"{step.what} {step.table}", advance=1)

        look_after(ledger, now_ms(), budget_s=seconds, everything=True, keep=keep, done=done)
    totals: dict[tuple[str, str], tuple[int, int, float]] = {}
    for step in steps:
        count, things, held_s = totals.get((step.what, step.table), (0, 0, 0.0))
        totals[step.what, step.table] = (count + 1, things + step.things, max(held_s, step.held_s))
    if as_json:
        output.emit_json([asdict(step) for step in steps])
        return
    rows = [
        (*key, count, things, f"{held_s:.3f}") for key, (count, things, held_s) in totals.items() if things
    ]
    if rows:
        columns = ["what", "table", "steps", "things", "longest under the lock (s)"]
        output.table("", columns, rows, right=columns[2:])
    else:
        output.say("There was nothing to do.")


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Show the ledger's revision, its tables and files, and what upkeep has to do.

    \b
    Example:
      quartermaster ledger status --json
    """
    from sql.state import state

    with _ledger(context) as ledger:
        now = state(ledger)
    if as_json:
        output.emit_json(asdict(now) | {"size_bytes": now.size_bytes})
        return
    last = now.last_commit_at.isoformat(timespec="seconds") if now.last_commit_at else "never"
    facts = [
        ("ledger", now.where),
        ("catalog", now.catalog),
        ("revision", f"{now.revision} (this program's: {now.newest_revision})"),
        ("last commit", f"{last} by {now.last_author or 'unknown'}"),
        ("snapshots", now.snapshots),
        ("files to merge", now.small_files),
        ("files to remove", now.files_to_remove),
        ("held by process", now.writer_process or "nobody"),
        ("size of the files", _bytes(now.size_bytes)),
    ]
    output.table("", ["", " "], facts)
    output.say("")
    rows = [(t.table, f"{t.rows:,}", t.files, _bytes(t.size_bytes), f"{t.inlined:,}") for t in now.tables]
    columns = ["table", "rows", "files", "size", "in the catalog"]
    output.table("", columns, rows, right=columns[1:])
    for warning in now.warnings:
        output.say(f"warning: {warning}", style="bold")


@app.command()
def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet.")],
    as_json: Json = False,
) -> None:
    """Write the ledger as of now into a folder. Writers go on meanwhile.

    \b
    Example:
      quartermaster ledger backup /backups/ledger-2026-11-30
    """
    from quartermaster.clock import now_ms
    from sql.backup import backup as write

    begun = time.monotonic()
    with _ledger(context) as ledger, output.progress() as bar:
        task = bar.add_task("copying", total=None)
        made = write(
            ledger, folder, now_ms(), progress=lambda done, of: bar.update(task, completed=done, total=of)
        )
    told = {
        "folder": str(folder),
        "snapshot": made.snapshot_id,
        "files": len(made.pieces),
        "bytes": made.size,
    }
    if as_json:
        output.emit_json(told | {"seconds": round(time.monotonic() - begun, 3)})
    else:
        output.say(f"{folder} holds the ledger as of now: {told['files']} files, {_bytes(made.size)}.")


@app.command()
def restore(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder that ledger backup has written.")],
    verify_only: Annotated[
        bool, typer.Option("--verify", help="Only see whether the backup is whole.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring a backup back to where the configuration says the ledger is. None may be there.

    \b
    Examples:
      quartermaster ledger restore /backups/ledger-2026-11-30 --verify
      quartermaster ledger restore /backups/ledger-2026-11-30
    """
    from sql.backup import restore as bring_back
    from sql.backup import verify

    place = _configuration(context).ledger
    with output.progress() as bar:
        task = bar.add_task("verifying", total=None)

        def progress(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        if verify_only:
            found = verify(folder, progress=progress)
        else:
            found = bring_back(folder, place.path, place.catalog.reveal(), progress=progress)
    if as_json:
        output.emit_json({"made_at": found.made_at, "snapshot": found.snapshot_id, "rows": found.rows})
    elif verify_only:
        output.say(f"{folder} is whole: the ledger of {found.made_at}, {sum(found.rows.values()):,} rows.")
    else:
        output.say(
            f"The ledger of {found.made_at} is in {place.path} again: {sum(found.rows.values()):,} rows."
        )


@contextlib.contextmanager
def _ledger(context: typer.Context, *, read_only: bool = True, make: bool = False) -> Generator["Ledger"]:
    from sql.ledger import open_ledger

    place = _configuration(context).ledger
    with open_ledger(place.path, place.catalog.reveal(), read_only=read_only, make=make) as ledger:
        yield ledger


def _configuration(context: typer.Context) -> "Configuration":
    import os

    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
