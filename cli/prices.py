"""`quartermaster prices`: what GPUs cost, and from when; set by command; what a cluster truly costs."""

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.electricity import carbon, energy
from cli.exchange import fx, owed
from cli.session import session
from cli.truecost import true_cost
from quartermaster.clock import now_ms, to_iso, to_minute
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.money.rates import Card, Prices, Rate
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

app = typer.Typer(no_args_is_help=True, help="What GPUs cost, and from when; what a cluster truly costs.")
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
_SHARES = ("unallocated", "unavailable", "unobserved")


@app.command("list")
def listed(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the rate cards that the ledger knows: from when each holds, in which currency, who set it.

    \b
    Examples:
      quartermaster prices list
      quartermaster prices list --json | jq '.[] | select(.in_force)'
    """
    from analytics.money.rates import FOREVER_MS
    from sql.configured import open_configured

    configuration = _configuration(context)
    with open_configured(configuration, read_only=True) as ledger:
        prices = _prices(ledger)
        said = {
            (row["card"], row["start_ms"]): row
            for row in ledger.query(
                "select card, epoch_ms(start_at) as start_ms, author, source from cards order by start_at"
            ).to_dicts()
        }
    here = prices.card_at(now_ms())
    rows = [
        {
            "card": card.card,
            "from": to_iso(card.start_ms) if card.start_ms else "the beginning",
            "to": None if card.end_ms == FOREVER_MS else to_iso(card.end_ms),
            "currency": card.currency,
            "prices": len(prices.list_at(card, card.start_ms)),
            "author": said[card.card, card.start_ms]["author"] or "",
            "source": said[card.card, card.start_ms]["source"],
            "in_force": card == here,
        }
        for card in prices.cards
    ]
    if as_json:
        output.emit_json(rows)
        return
    if not rows:
        output.say("there is no rate card: give rate_cards an entry, or quartermaster prices set")
        return
    output.table(
        "",
        ["", "card", "from (UTC)", "currency", "prices", "author", "source"],
        [
            [
                "*" if row["in_force"] else "",
                row["card"],
                to_minute(card.start_ms) if card.start_ms else "the beginning",
                *(row[name] for name in ("currency", "prices", "author", "source")),
            ]
            for card, row in zip(prices.cards, rows, strict=True)
        ],
        right=["prices"],
    )


@app.command()
def show(
    context: typer.Context,
    card: Annotated[str | None, typer.Argument(help="The card; without it, the one in force.")] = None,
    *,
    at: Annotated[str, typer.Option("--at", help="At this instant: now, 2026-12-01T00:00:00Z.")] = "now",
    as_json: AsJson = False,
) -> None:
    """Show a card: its prices in order, what is shared how, and what else it says.

    \b
    Examples:
      quartermaster prices show
      quartermaster prices show 2026 --at 2026-12-01T00:00:00Z --json
    """
    from cli.instants import instant
    from sql.configured import open_configured

    configuration = _configuration(context)
    instant_ms = now_ms() if at == "now" else instant(at)
    with open_configured(configuration, read_only=True) as ledger:
        prices = _prices(ledger)
    found = _card(prices, card, instant_ms)
    lines = prices.list_at(found, instant_ms)
    if as_json:
        output.emit_json(_as_value(found, lines))
        return
    output.say(f"rate card {found.card}, in {found.currency}, at {to_iso(instant_ms)}", style="bold")
    for line in lines:
        others = ", ".join(f"{each.measure} {each.price.normalize():f}" for each in line.others)
        output.say(
            f"  {_subject(line)}: {line.price.normalize():f} a GPU-hour{', ' + others if others else ''}"
        )
    for name, way in _ways(found).items():
        output.say(f"  {name}: {way}")


@app.command("set")
def set_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A rate card, as an entry of rate_cards; - is stdin.")],
    *,
    start: Annotated[str, typer.Option("--from", help="From when on: now, 2026-12-01T00:00:00Z.")],
    author: Annotated[str | None, typer.Option("--author", help="Who sets it; without it, you.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put a rate card in force from an instant on. It stays so until a card that begins later.

    Refused with the line that is wrong; in closed books, and where usage can no longer be cut, with the next
    instant that works. A card of the configuration is changed there.

    \b
    Examples:
      quartermaster prices set card.yaml --from 2026-12-01T00:00:00Z
      echo '{card: sale, prices: [{gpu_hour: "1.90"}]}' |
        quartermaster prices set - --from now --author finance
    """
    from cli.instants import instant
    from quartermaster.config.cardfile import read_card
    from sql.configured import open_configured
    from sql.setprices import set_prices

    configuration = _configuration(context)
    card = read_card(_text(file), "stdin" if str(file) == "-" else str(file), configuration)
    card = card.model_copy(
        update={"author": author if author is not None else card.author or getpass.getuser()}
    )
    at_ms = now_ms()
    start_ms = at_ms if start == "now" else instant(start)
    with open_configured(configuration) as ledger:
        done = set_prices(ledger, configuration, card, start_ms, at_ms)
    if as_json:
        output.emit_json(
            {"card": done.card, "version": done.version, "from": to_iso(done.start_ms), "prices": done.lines}
        )
        return
    output.say(
        f"rate card {done.card}, version {done.version}: {done.lines} prices from {to_iso(done.start_ms)}"
    )
    if done.start_ms <= at_ms:
        output.say("next: quartermaster rollup charges what is due")


app.command("true-cost")(true_cost)
app.command()(fx)
app.command()(owed)
app.command()(energy)
app.command()(carbon)


def _text(file: Path) -> str:
    import sys

    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: it cannot be read: {error}", "name a rate card's YAML file") from error


def _prices(ledger: "Ledger") -> "Prices":
    from analytics.money.rates import read_prices

    with ledger.reading() as cursor:
        return read_prices(cursor)


def _card(prices: "Prices", name: str | None, instant_ms: int) -> "Card":
    if name is None:
        found = prices.card_at(instant_ms)
        if found is None:
            raise InputError(f"no rate card is in force at {to_iso(instant_ms)}", "quartermaster prices list")
        return found
    named = [card for card in prices.cards if card.card == name and card.start_ms <= instant_ms < card.end_ms]
    if not named:
        known = ", ".join(dict.fromkeys(card.card for card in prices.cards)) or "none"
        raise InputError(
            f"there is no rate card {name!r} at {to_iso(instant_ms)}", f"the ledger knows: {known}"
        )
    return max(named, key=lambda card: card.start_ms)


def _subject(line: "Rate") -> str:
    globs = {"model": line.model_glob, "pool": line.pool_glob, "cluster": line.cluster_glob}
    globs["profile"] = line.profile_glob
    return " ".join(f"{name} {glob}" for name, glob in globs.items() if glob != "*") or "everything"


def _ways(card: "Card") -> dict[str, str]:
    terms = card.terms
    ways = {name: getattr(card, f"share_{name}") for name in _SHARES}
    if terms.system_namespaces:
        ways["system"] = f"{terms.share_system} ({', '.join(terms.system_namespaces)})"
    ways["faulted time"] = "billed" if card.bill_faulted else "credited"
    if terms.lost_permille:
        hours = terms.lost_at_most_ms // 3_600_000
        ways["lost work"] = f"{terms.lost_permille / 10:g} % credited, the last {hours} h at most"
    ways |= {f"weight of {team}": str(weight) for team, weight in terms.weights}
    ways |= {f"discount of {team}": f"{off / 10:g} %" for team, off in terms.discounts}
    for each in terms.commitments:
        name = f"commitment of {each.team} in {each.pool} of {each.cluster}"
        ways[name] = f"{each.parts / 168_000:g} GPUs for {each.month_micros / 1_000_000:,.2f} a month"
    if terms.bill_energy:
        ways["energy"] = "billed by the tariffs"
    return ways


def _as_value(card: "Card", lines: "list[Rate]") -> dict[str, object]:
    return {
        "card": card.card,
        "currency": card.currency,
        "from": to_iso(card.start_ms),
        "ways": _ways(card),
        "prices": [
            {
                "model": line.model_glob,
                "pool": line.pool_glob,
                "cluster": line.cluster_glob,
                "profile": line.profile_glob,
                "gpu_hour": line.price,
                **{each.measure: each.price for each in line.others},
            }
            for line in lines
        ],
    }


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)
