"""`quartermaster audit`: whether the record of what was done is whole, and single rows of it."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.choice import acted_on
from cli.session import session
from quartermaster.clock import to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.audit.row import Row
    from enforcer.audit.verify import Verdict
    from quartermaster.config.model import Configuration

app = typer.Typer(
    no_args_is_help=True, help="Whether the record of what was done is whole; single rows of it."
)
Cluster = Annotated[str | None, typer.Option("--cluster", help="Only this cluster's.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
_SHOWN = 20


@app.command()
def verify(
    context: typer.Context,
    *,
    head: Annotated[
        str | None,
        typer.Option("--head", help="The head as it stood elsewhere: 12:9f86d0…, or the hash alone."),
    ] = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Walk along each cluster's chain and say which row is changed, missing, doubled, out of place or cut off.

    A tail that was cut off together with its head is seen only by a head that stood elsewhere: in the file of
    policy.acting.audit_file, which is looked at by itself, in the log, or on the Lease, as below. Exit code 1 when
    something is amiss.

    \b
    Examples:
      quartermaster audit verify
      quartermaster audit verify --cluster main --head 12:9f86d081884c7d65…
      kubectl -n quartermaster get lease quartermaster-enforcer -o yaml
    """
    from enforcer.audit.head import parse, published
    from enforcer.audit.verify import verify as walk
    from sql.configured import open_configured

    configuration = _configuration(context)
    told = None if head is None else parse(head)
    file = configuration.policy.acting.audit_file
    verdicts: list[Verdict] = []
    with open_configured(configuration, read_only=True) as ledger, output.progress() as bar:
        names = acted_on(ledger, configuration, cluster)
        if told is not None and len(names) != 1:
            raise InputError(
                "a head is of one cluster, and there are several",
                f"name one with --cluster: {', '.join(names)}",
            )
        for name in names:
            heads = {} if file is None else published(file, name)
            wanted = ""
            if told is not None and told.number:
                heads[told.number] = told.row_hash
            elif told is not None:
                wanted = told.row_hash
            task = bar.add_task(name, total=None)
            verdicts.append(
                walk(
                    ledger,
                    name,
                    heads,
                    wanted=wanted,
                    went=lambda done, of, task=task: bar.update(task, completed=done, total=of),
                )
            )
    if as_json:
        output.emit_json([_verdict(each) for each in verdicts])
    else:
        _print(verdicts)
    raise typer.Exit(1 if any(each.found for each in verdicts) else 0)


@app.command()
def show(
    context: typer.Context,
    row: Annotated[
        str | None,
        typer.Argument(help="Its number, or the beginning of its hash.", show_default="the last ones"),
    ] = None,
    *,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Show rows of the audit with every column: one by its number or hash, or the last twenty of each cluster.

    \b
    Examples:
      quartermaster audit show
      quartermaster audit show 12 --cluster main
      quartermaster audit show 9f86d081
    """
    from enforcer.audit.verify import rows_of
    from sql.configured import open_configured

    found: list[Row] = []
    configuration = _configuration(context)
    with open_configured(configuration, read_only=True) as ledger:
        for name in acted_on(ledger, configuration, cluster):
            found += rows_of(ledger, name, row, _SHOWN)
    if row is not None and not found:
        raise InputError(
            f"the audit has no row {row!r}", "give its number, or the first 8 digits of its hash or more"
        )
    values = [_value(each) for each in found]
    if as_json:
        output.emit_json(values)
    elif row is None:
        names = ("cluster", "number", "told_at", "phase", "act", "result", "name", "row_hash")
        output.table(
            "", names, [[str(each[name])[:19] for name in names] for each in values], right=["number"]
        )
    else:
        for each in values:
            output.table(
                "", ["column", "value"], [(name, value) for name, value in each.items() if value != ""]
            )


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _print(verdicts: "list[Verdict]") -> None:
    for each in verdicts:
        if each.found:
            output.say(
                f"{each.cluster}: {each.rows:,} rows; {each.found:,} times something is amiss.", style="bold"
            )
            flaws = [
                ("" if flaw.number is None else flaw.number, flaw.kind.value, flaw.words)
                for flaw in each.flaws
            ]
            output.table("", ["row", "is", "how"], flaws, right=["row"])
            if each.found > len(each.flaws):
                output.say(f"These are the first {len(each.flaws)}.")
        elif each.rows:
            output.say(
                f"{each.cluster}: {each.rows:,} rows, and the chain is whole. Its head: {each.head.text}"
            )
        else:
            output.say(f"{each.cluster}: nothing is written yet.")


def _verdict(each: "Verdict") -> dict[str, Any]:
    return {
        "cluster": each.cluster,
        "whole": not each.found,
        "rows": each.rows,
        "head": each.head.text,
        "found": each.found,
        "flaws": [
            {"number": flaw.number, "kind": flaw.kind.value, "words": flaw.words} for flaw in each.flaws
        ],
    }


def _value(row: "Row") -> dict[str, Any]:
    told = row["told_at"]
    return {**row, "told_at": None if told is None else to_iso(told // 1000)}
