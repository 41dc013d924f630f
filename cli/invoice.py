"""`quartermaster invoice`: what suppliers ask for GPUs, so that the books tie to it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration

app = typer.Typer(no_args_is_help=True, help="Suppliers' invoices, which the books are made to tie to.")
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
Period = Annotated[str, typer.Option("--period", "-p", help="The period that it is of, as 2026-11.")]
Actor = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Who does it; without it, the pseudonym of who runs the command."
    ),
]


@app.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="CSV or Parquet: our columns, or FOCUS's.")],
    *,
    period: Period,
    number: Annotated[str, typer.Option("--number", "-n", help="The invoice's number.")],
    issuer: Annotated[str, typer.Option("--issuer", help="Who sent it.")] = "",
    cluster: Annotated[
        str, typer.Option("--cluster", help="The cluster, where the file names none and there are several.")
    ] = "",
    sku: Annotated[
        list[str] | None,
        typer.Option(
            "--sku", metavar="SKU=MODEL", help="Which SkuId of FOCUS is which GPU model; may be repeated."
        ),
    ] = None,
    share: Annotated[
        str,
        typer.Option(
            "--share", help="Who bears the difference to the card: held (teams, by held time) or own."
        ),
    ] = "held",
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Import an invoice before its period is closed; the difference to the card becomes lines of cost.

    Our columns are model and amount, and where they are known cluster, day and currency; a line without a day is spread
    over the period. Imported again, it replaces what it was. For each model and day that it names, the lines add up to
    what it asks for.

    \b
    Examples:
      quartermaster invoice import nov.csv -p 2026-11 -n R-4711
      quartermaster invoice import nov.parquet -p 2026-11 -n 88 --cluster main
    """
    from analytics.money.invoicefile import Reading, read_file, understand
    from analytics.money.invoices import Invoice, import_invoice
    from analytics.money.periods import calendar_of
    from cli.asking import asker
    from sql.configured import open_configured

    if share not in {"held", "own"}:
        raise InputError(f"--share is held or own, not {share!r}", "held: the teams bear it, by held time")
    models = dict(_pair(each) for each in sku or ())
    configuration = _configuration(context)
    business = configuration.business
    clusters = [each.name for each in configuration.clusters]
    if not cluster and len(clusters) == 1:
        cluster = clusters[0]
    reading = Reading(business.time_zone, business.currency, cluster, models)
    understood = understand(read_file(file), reading)
    invoice = Invoice(number, issuer, file.name, understood.lines, share)
    with open_configured(configuration) as ledger:
        found = import_invoice(
            ledger,
            period,
            invoice,
            calendar=calendar_of(business),
            actor=actor or asker(configuration),
            now_ms=now_ms(),
        )
    if as_json:
        output.emit_json(
            {
                "period": period,
                "invoice": number,
                "total": found.total,
                "currency": found.currency,
                "trued_up": found.trued_up,
                "like": found.like,
                "days": list(found.charged.changed_days),
                "left_out_rows": understood.left_out,
                "left_out_amount": understood.left_out_amount,
            }
        )
        return
    output.say(f"{number}: {found.total:,.2f} {found.currency} for {period}")
    output.say(f"the books differ from the card by {found.trued_up:,.2f} {found.currency} because of it")
    if found.like is not None:
        output.say(
            f"{found.like} asks for the same in {period}: if it is the same invoice, take one out with "
            "quartermaster invoice withdraw"
        )
    if understood.left_out:
        output.say(f"{understood.left_out:,} rows are of no GPU model that was named, or taxes: left out")


@app.command("list")
def list_all(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the invoices that were imported.

    \b
    Examples:
      quartermaster invoice list
    """
    from analytics.money.invoices import list_invoices
    from sql.configured import open_configured

    with open_configured(_configuration(context), read_only=True) as ledger, ledger.reading() as cursor:
        found = list_invoices(cursor)
    if as_json:
        output.emit_json(found.to_dicts())
        return
    columns = ["period", "invoice", "issuer", "from", "to", "total", "", "borne by"]
    rows = [
        (
            *(row[name] for name in ("period", "invoice", "issuer")),
            row["first_day"],
            row["last_day"],
            f"{row['total']:,.2f}",
            row["currency"],
            "teams" if row["share"] == "held" else "nobody",
        )
        for row in found.iter_rows(named=True)
    ]
    output.table("Invoices", columns, rows, right=["total"])


@app.command("withdraw")
def withdraw(
    context: typer.Context,
    number: Annotated[str, typer.Argument(help="The invoice's number.")],
    *,
    period: Period,
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Take an invoice out of an open period's books.

    \b
    Examples:
      quartermaster invoice withdraw R-4711 --period 2026-11
    """
    from analytics.money.invoices import withdraw_invoice
    from analytics.money.periods import calendar_of
    from cli.asking import asker
    from sql.configured import open_configured

    configuration = _configuration(context)
    with open_configured(configuration) as ledger:
        charged = withdraw_invoice(
            ledger,
            period,
            number,
            calendar=calendar_of(configuration.business),
            actor=actor or asker(configuration),
            now_ms=now_ms(),
        )
    if as_json:
        output.emit_json({"period": period, "invoice": number, "days": list(charged.changed_days)})
    else:
        output.say(f"{number} is withdrawn; {len(charged.changed_days)} days are charged anew")


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _pair(text: str) -> tuple[str, str]:
    sku, found, model = text.partition("=")
    if not found or not sku or not model:
        raise InputError(f"--sku {text!r} is no pair", 'write it as --sku "p5.48xlarge=NVIDIA H100"')
    return sku, model
