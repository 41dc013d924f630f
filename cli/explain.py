"""`quartermaster report explain`: a line of cost, from the cent back to where it comes from."""

import os
from typing import Annotated

import typer

from cli import output
from cli.session import session


def explain(
    context: typer.Context,
    charge_id: Annotated[int, typer.Argument(help="The line's charge_id, as quartermaster sql shows it.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Explain a line of cost: from the cent back to usage, allocations, price and rule, and to samples while they live.

    \b
    Examples:
      quartermaster report explain 4611686018427387904
      quartermaster sql "select charge_id, amount from charges limit 5"
    """
    from analytics.money import explained
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        found = explained.explain(cursor, charge_id, configuration.business.time_zone)
    if as_json:
        output.emit_json(explained.to_document(found))
        return
    for sentence in explained.sentences(found):
        output.say(sentence)
