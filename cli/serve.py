"""`quartermaster serve …`: the ledger for other programs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from cli import output
from cli.session import session

app = typer.Typer(no_args_is_help=True, help="Answer other programs over HTTP.")


@app.command()
def sql(  # noqa: PLR0917
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8321,
    certificate: Annotated[Path | None, typer.Option(help="TLS: the certificate's PEM file.")] = None,
    key: Annotated[Path | None, typer.Option(help="TLS: its key's PEM file.")] = None,
    unencrypted: Annotated[
        bool, typer.Option("--unencrypted", help="Do without TLS where others can reach it.")
    ] = False,
    at_once: Annotated[int, typer.Option(min=1, max=256, help="Questions that are answered at once.")] = 4,
    waiting: Annotated[int, typer.Option(min=0, max=10_000, help="Questions that may wait for it.")] = 32,
    rows: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Rows that an answer has at most.")
    ] = 100_000,
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="How long a question may take.")] = 30,
    memory_mib: Annotated[int, typer.Option(min=128, help="How much memory it may take, in MiB.")] = 1024,
) -> None:
    """Answer SQL over HTTP, read only: for those who have a token, each within its teams, all of it noted.

    Until Ctrl-C or SIGTERM. Only this machine reaches it, unless you name an address and a certificate.

    \b
    Examples:
      quartermaster token create grafana --team vision --days 90
      quartermaster serve sql
      quartermaster serve sql --host 0.0.0.0 --certificate tls.crt --key tls.key
      curl --oauth2-bearer $TOKEN localhost:8321/v1/questions/idle-by-team
    """
    from quartermaster.config.load import load_configuration
    from sql.door import Limits
    from sql.serve import Serving, serve

    place = load_configuration(session(context).config_path(), os.environ).ledger
    serving = Serving(
        host=host,
        port=port,
        certificate=certificate,
        key=key,
        unencrypted=unencrypted,
        at_once=at_once,
        waiting=waiting,
        limits=Limits(seconds=seconds, memory_mib=memory_mib, rows=rows),
    )
    serve(place.path, place.catalog.reveal(), serving, lambda address: output.say(f"Listening on {address}"))
