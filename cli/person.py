"""`quartermaster person`: what the ledger has of one person, and taking their name out of it."""

import getpass
import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration

app = typer.Typer(no_args_is_help=True, help="What the ledger has of one person; taking a name out of it.")
Who = Annotated[
    str, typer.Argument(help="The user's name as the cluster writes it, or a pseudonym (person-…).")
]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


@app.command()
def export(context: typer.Context, who: Who) -> None:
    """Print all that the ledger has of a person, as JSON. That you read it is recorded.

    \b
    Example:
      quartermaster person export alice > alice.json
    """
    from sql.configured import open_configured
    from sql.people import export as everything
    from sql.people import find

    configuration = _configuration(context)
    with open_configured(configuration) as ledger:
        person = find(ledger, who, lambda: _key(configuration))
        output.emit_json(everything(ledger, person, getpass.getuser(), now_ms()))


@app.command()
def erase(
    context: typer.Context,
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a person's name and contact out of the ledger. Every sum and every check stays as it is.

    What was held and what it cost stays under the pseudonym. Snapshots from before still have the name
    until they expire: the command says the date from which on it is gone for good.

    \b
    Example:
      quartermaster person erase alice
    """
    import sys

    from quartermaster.person import pseudonym
    from sql.configured import open_configured
    from sql.people import erase as forget
    from sql.people import find

    configuration = _configuration(context)
    with open_configured(configuration) as ledger:
        person = find(ledger, who, lambda: _key(configuration))
        if not yes:
            if not sys.stdin.isatty():
                raise InputError(
                    "erasing cannot be undone, and there is nobody to ask", "repeat it with --yes"
                )
            typer.confirm(f"Erase the name and contact of {pseudonym(person)}?", abort=True)
        erased = forget(ledger, person, getpass.getuser(), now_ms())
    gone_at = to_iso(erased.gone_at_ms) if erased.was_there else None
    if as_json:
        output.emit_json(
            {"person": pseudonym(person), "erased": erased.was_there, "gone_for_good_at": gone_at}
        )
    elif erased.was_there:
        output.say(f"{pseudonym(person)} has no name any more.")
        output.say(f"Snapshots from before have it until {gone_at}.")
        output.say("It is gone for good with the first quartermaster ledger compact after that;")
        output.say("files that have it go six hours later.")
    else:
        output.say(
            f"There is no name of {pseudonym(person)} in the ledger; it was erased before, or never written."
        )


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _key(configuration: "Configuration") -> bytes:
    from quartermaster.person import KEY_FILE, pseudonym_key

    folder = configuration.ledger.path
    if configuration.privacy.key is None and not (folder / KEY_FILE).exists():
        raise InputError(
            f"there is no {folder / KEY_FILE}, so no name is known", "name the pseudonym: person-…"
        )
    return pseudonym_key(configuration.privacy.key, folder)
