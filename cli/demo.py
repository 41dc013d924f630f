"""`quartermaster demo`: a simulated cluster's week, through the whole product, to each team's bill."""

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Annotated

import typer

from cli import output
from cli.session import FILE
from quartermaster.errors import InputError

_MARK = ".quartermaster-demo"
_MADE = (FILE, "ledger", "report.html", "reports")


def demo(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smaller cluster, coarser: seconds instead of a minute.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same week.")] = 1,
    week: Annotated[
        str | None, typer.Option("--week", "-w", help="ISO week, as 2026-W48.", show_default="the last one")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave configuration, ledger and reports in --dir.")
    ] = False,
    folder: Annotated[Path, typer.Option("--dir", "-d", help="Where to keep them.")] = Path(),
) -> None:
    """Turn a simulated GPU cluster's week into money: who held what, what stood idle, what each team owes.

    A simulator serves real exposition pages over HTTP; the collector fetches them on a stepped clock (every
    5 minutes, the last six hours every 30 s) into a ledger; the roll-up and the bill are the product's own.

    \b
    Examples:
      quartermaster demo                      see it; its files are in your cache
      quartermaster demo --keep --dir trial   then: cd trial; quartermaster report
      quartermaster demo --quick --seed 7     another, smaller cluster, in seconds
    """
    from cli.rehearsal import rehearse

    place = folder if keep else _cache() / "demo"
    with _alone(place):
        told = rehearse(place, seed=seed, week=week, quick=quick)
    from cli.bill import show

    show(told.report)
    command = _command(place, here=keep and place.resolve() == Path.cwd().resolve())
    typer.echo()
    output.say(f"Measured on the way: {told.measured}")
    typer.echo("\nWhat the enforcer would have done in that week, in shadow:")
    output.say(f"  {told.foreseen}")
    typer.echo(f"\nThe same as a page to send around:\n  {told.page}")
    typer.echo("\nFor managers, finance, departments and teams, as HTML, PDF, XLSX, CSV, JSON:")
    typer.echo(f"  {told.page.parent / 'reports'}")
    typer.echo("\nThree questions to try:")
    for question in (
        "sql --name idle-by-team",
        f"why {told.idlest_pod}" if told.idlest_pod else "sql --list",
        'sql "select node, count(*) as pods from allocations group by all order by 2 desc"',
    ):
        typer.echo(f"  {command} {question}")
    _offer_page(command, place)


@contextlib.contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Have the demo's folder, empty, for oneself. What a demo left is made anew; somebody's own ledger is
    refused, and the folder of a demo that runs."""
    ours = [name for name in _MADE if (folder / name).exists()]
    if ours and not (folder / _MARK).is_file():
        raise InputError(
            f"{folder.absolute()} has a {ours[0]} already, and no demo made it",
            "name an empty folder with --dir",
        )
    with contextlib.ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            mark = held.enter_context((folder / _MARK).open("a", encoding="utf-8"))
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mark.truncate(0)
            mark.write("made by quartermaster demo, which replaces what is here\n")
            mark.flush()
            for name in _MADE:
                if (folder / name).exists():
                    shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
        except BlockingIOError as error:
            raise InputError(
                f"another demo is at work in {folder.absolute()}",
                "wait for it, or name another folder with --keep --dir",
            ) from error
        except OSError as error:
            raise InputError(
                f"{folder.absolute()} cannot be written: {error.strerror}",
                "name another folder with --keep --dir",
            ) from error
        yield


def _cache() -> Path:
    """Quartermaster's folder for what may be made anew (XDG)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quartermaster"


def _command(place: Path, *, here: bool) -> str:
    """How to call the command on the demo's configuration, as the person who reads it can type it."""
    name = (
        "quartermaster"
        if shutil.which("quartermaster")
        else _displayed(Path(sys.executable).parent / "quartermaster")
    )
    return name if here else f"{name} -c {_displayed(place / FILE)}"


def _displayed(path: Path) -> str:
    """The path relative to the current folder where it lies below it."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)


def _offer_page(command: str, place: Path) -> None:
    asked = sys.stdin.isatty() and sys.stdout.isatty()
    if asked and typer.confirm("\nOpen the Overview page in a browser?", default=False):
        from cli.dashboard import serve

        serve((place / FILE).absolute())
        return
    typer.echo(f"\nThe Overview page:\n  {command} dashboard")
