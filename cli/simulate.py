"""`quartermaster simulate`: a simulated cluster's exporters over HTTP, or a trace replayed into a ledger."""

from pathlib import Path
from typing import Annotated

import typer

from cli import output

app = typer.Typer(no_args_is_help=True, help="Simulated clusters: exporters over HTTP, traces into a ledger.")


@app.command("serve")
def serve(
    *,
    port: Annotated[int, typer.Option(help="The port; 0: a free one.", min=0, max=65535)] = 9400,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same cluster.")] = 1,
    speed: Annotated[
        float, typer.Option(help="Virtual seconds a real second.", min=0.001, max=100_000)
    ] = 1.0,
    days: Annotated[int, typer.Option(help="For how many days there is work.", min=1, max=366)] = 7,
    start: Annotated[
        str, typer.Option(help="The virtual clock's first instant (ISO 8601); empty: now.")
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="A smaller cluster: 44 GPUs instead of 104.")
    ] = False,
    labels: Annotated[str, typer.Option(help="A label generation for all nodes: 1.7 … 4.9, exported.")] = "",
    quirk: Annotated[
        list[str] | None,
        typer.Option(metavar="[NODE=]NAME", help="A quirk, of one node or of all; repeatable."),
    ] = None,
    configuration: Annotated[
        Path | None, typer.Option(help="Write a quartermaster.yaml for this cluster there.")
    ] = None,
) -> None:
    """Serve the dcgm-exporter pages of a simulated cluster, a path a node, until Ctrl-C.

    \b
    Examples:
      quartermaster simulate serve
      quartermaster simulate serve --configuration sim.yaml
      quartermaster simulate serve --labels 3.1 --quirk blanks
      quartermaster simulate serve --quirk h100-0=hang --speed 60
    """
    import asyncio

    from quartermaster.clock import DAY_MS, SECOND_MS, from_iso, now_ms
    from quartermaster.errors import InputError
    from simulator.server import LiveSite, Plan, run

    try:
        start_ms = from_iso(start) if start else now_ms() // SECOND_MS * SECOND_MS
    except ValueError as error:
        raise InputError(f"--start {start}: {error}", "try --start 2026-11-23") from error
    if configuration is not None:
        _must_be_ours(configuration)
    plan = Plan(seed, start_ms, start_ms + days * DAY_MS, quick, speed, labels, _by_node(quirk or []))
    simulation = plan.simulation()

    def ready(taken: int) -> None:
        base_url = f"http://{host}:{taken}"
        typer.echo(f"{len(simulation.nodes)} nodes at {base_url}/<node>/metrics, listed at {base_url}/")
        if configuration is not None:
            configuration.write_text(simulation.configuration(base_url, "labels"), encoding="utf-8")
            typer.echo(f"wrote {configuration}: try quartermaster --config {configuration} collect --once")

    asyncio.run(run(LiveSite(plan, simulation), host, port, ready))


@app.command("replay")
def replay(
    *,
    trace: Annotated[Path, typer.Option(help="The trace's folder, with nodes.csv and pods.csv.")],
    folder: Annotated[Path, typer.Option("--dir", help="Where the configuration and the ledger go.")],
    seed: Annotated[int, typer.Option(min=0, help="The seed of all that the trace does not say.")] = 1,
    start: Annotated[str, typer.Option(help="When its first instant shall be (ISO 8601).")] = "2026-01-01",
    interval: Annotated[str, typer.Option(help="The interval of its samples.")] = "1h",
    copies: Annotated[int, typer.Option(help="Make it dense: each late pod so often.", min=0, max=1000)] = 0,
    demand: Annotated[
        float, typer.Option(help="When dense: what is asked for ÷ what there is.", min=0.01, max=100)
    ] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Replay a trace in the openb format into a new ledger.

    The trace names machines, what pods ask for, and when they come and go. Placement, teams, owners and
    activity are synthesized by seed. With --copies, the pods of its last 34 days come that many times, each
    up to six hours earlier or later, on as many of the nodes as make demand what --demand says.

    \b
    Examples:
      quartermaster simulate replay --trace openb --dir replayed
      quartermaster simulate replay --trace openb --dir dense --copies 10
    """
    import os

    from quartermaster.clock import from_iso
    from quartermaster.config.load import load_configuration
    from quartermaster.config.units import duration_ms
    from quartermaster.errors import InputError
    from simulator.configuration import of_replay
    from simulator.landing import land
    from simulator.replay import Replay
    from simulator.trace import dense, read
    from sql.declare import declare
    from sql.ledger import open_ledger
    from sql.upgrade import upgrade

    try:
        start_ms, interval_ms = from_iso(start), duration_ms(interval)
    except ValueError as error:
        raise InputError(f"{error}", "try --start 2026-01-01 --interval 1h") from error
    file = folder / "quartermaster.yaml"
    if file.exists():
        raise InputError(f"{file} is there already", "name an empty folder with --dir")
    found = read(trace)
    replayed = Replay(
        dense(found, copies=copies, demand=demand, seed=seed) if copies else found, seed, start_ms
    )
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(of_replay(replayed), encoding="utf-8")
    settings = load_configuration(file, os.environ)
    with output.progress() as bar, open_ledger(folder / "ledger") as ledger:
        task = bar.add_task("replaying", total=1.0)
        upgrade(ledger)
        declare(ledger, settings, start_ms)
        counts = land(replayed, ledger, interval_ms, lambda done: bar.update(task, completed=done))
    if as_json:
        output.emit_json({"configuration": str(file), "rows": counts})
        return
    output.table(
        f"{replayed.trace.name} in {folder}", ["table", "rows"], list(counts.items()), right=["rows"]
    )
    typer.echo(f"next: quartermaster --config {file} rollup")


@app.command("quirks")
def quirks() -> None:
    """List the quirks and label generations that `serve` can switch on."""
    from simulator.labels import GENERATIONS
    from simulator.quirks import PAGE, TRANSPORT

    output.table("", ["quirk", "what happens"], sorted((PAGE | TRANSPORT).items()))
    typer.echo(f"\nlabel generations: {', '.join(GENERATIONS)}")


def _must_be_ours(file: Path) -> None:
    """Refuse to write over a configuration that somebody wrote by hand."""
    from quartermaster.errors import InputError
    from simulator.configuration import FIRST_LINE

    if file.exists() and not file.read_text(encoding="utf-8", errors="replace").startswith(FIRST_LINE):
        raise InputError(f"{file} is there already, and no simulator wrote it", "name another file")


def _by_node(given: list[str]) -> dict[str, list[str]]:
    """`hang` and `h100-0=hang` as quirks by node; what is said of all nodes holds for the named ones too."""
    found: dict[str, list[str]] = {}
    for text in given:
        node, _, name = text.rpartition("=")
        found.setdefault(node or "*", []).append(name)
    return {node: [*names, *(found.get("*", []) if node != "*" else [])] for node, names in found.items()}
