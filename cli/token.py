"""`quartermaster token …`: who may ask through the remote door."""

import getpass
import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import DAY_MS, HOUR_MS, now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration
    from sql.tokens import Token

app = typer.Typer(no_args_is_help=True, help="Tokens that open quartermaster serve sql.")
Name = Annotated[str, typer.Argument(help="What the token is called.")]
Days = Annotated[int, typer.Option(min=1, max=3650, help="For how many days it opens.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


@app.command()
def create(  # noqa: PLR0917
    context: typer.Context,
    name: Name,
    team: Annotated[
        list[str] | None,
        typer.Option("--team", help="Shows this team's rows; any number.", show_default=False),
    ] = None,
    all_teams: Annotated[
        bool, typer.Option("--all", help="Shows all teams, and the ledger's tables.")
    ] = False,
    days: Days = 90,
    per_minute: Annotated[int, typer.Option(min=1, max=100_000, help="Questions a minute at most.")] = 120,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, this once: the ledger keeps a hash alone.

    \b
    Examples:
      quartermaster token create grafana --team vision --team language
      quartermaster token create finance --all --days 30
    """
    from sql.configured import open_configured
    from sql.tokens import create as make

    if bool(team) == all_teams:
        raise InputError("a token is for some teams or for all", "say --team, any number of times, or --all")
    now = now_ms()
    with open_configured(_configuration(context)) as ledger:
        made, word = make(
            ledger,
            name,
            teams=None if all_teams else team,
            per_minute=per_minute,
            author=getpass.getuser(),
            now_ms=now,
            end_ms=now + days * DAY_MS,
        )
    _tell(made, word, as_json)


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the tokens: whose rows they show, until when they open, who made them.

    \b
    Example:
      quartermaster token list
    """
    from sql.configured import open_configured
    from sql.tokens import tokens

    now = now_ms()
    with open_configured(_configuration(context), read_only=True) as ledger:
        known = tokens(ledger)
    if as_json:
        output.emit_json([_plain(each) | {"open": each.is_open(now)} for each in known])
        return
    rows = [
        (
            each.name,
            "all" if each.teams is None else ", ".join(each.teams),
            "open" if each.is_open(now) else "over",
            to_iso(each.end_ms)[:16],
            each.per_minute,
            each.author,
        )
        for each in known
    ]
    output.table("", ["name", "teams", "is", "until (UTC)", "a minute", "by"], rows, right=["a minute"])


@app.command()
def revoke(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """End a token. A server that runs knows it within five seconds.

    \b
    Example:
      quartermaster token revoke grafana
    """
    from sql.configured import open_configured
    from sql.tokens import revoke as end

    with open_configured(_configuration(context)) as ledger:
        ended = end(ledger, name, author=getpass.getuser(), now_ms=now_ms())
    if as_json:
        output.emit_json(_plain(ended))
    else:
        output.say(f"The token {name} opens no more.")


@app.command()
def rotate(
    context: typer.Context,
    name: Name,
    days: Days = 90,
    grace_hours: Annotated[
        int, typer.Option(min=0, max=720, help="For how many hours the old word still opens.")
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """Give a token another word; the old one opens for some hours more, so that nothing stands still.

    \b
    Example:
      quartermaster token rotate grafana --grace-hours 2
    """
    from sql.configured import open_configured
    from sql.tokens import rotate as renew

    now = now_ms()
    with open_configured(_configuration(context)) as ledger:
        made, word = renew(
            ledger,
            name,
            author=getpass.getuser(),
            now_ms=now,
            grace_ms=grace_hours * HOUR_MS,
            end_ms=now + days * DAY_MS,
        )
    _tell(made, word, as_json)


def _tell(made: "Token", word: str, as_json: bool) -> None:
    if as_json:
        output.emit_json(_plain(made) | {"token": word})
        return
    output.say(word)
    whose = "all teams" if made.teams is None else ", ".join(made.teams)
    typer.echo(f"It shows {whose} until {to_iso(made.end_ms)[:16]} UTC, and is told this once.", err=True)


def _plain(token: "Token") -> dict[str, object]:
    return {
        "name": token.name,
        "teams": None if token.teams is None else list(token.teams),
        "per_minute": token.per_minute,
        "author": token.author,
        "start_at": to_iso(token.start_ms),
        "end_at": to_iso(token.end_ms),
    }


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)
