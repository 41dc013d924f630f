"""`quartermaster up`: all parts on one machine, as one process tree, from one configuration."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from aiohttp import web

    from cli.parts import Part
    from cli.tree import Tree

_READY_S = 120.0


def up(
    context: typer.Context,
    *,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="PART", help="Leave this part out; repeatable (dashboard, metrics)."
        ),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Tell /healthz, /status and /metrics there.")
    ] = "127.0.0.1:9505",
    show: Annotated[bool, typer.Option("--parts", help="Say which parts would run, and end.")] = False,
) -> None:
    """Run everything on this machine: collect, roll up, look for findings, plan, send reports, show the pages.

    Each part is a process. One that ends is started again, after a second at first, then later and later. What they
    say comes as lines with the part's name. Ctrl-C or SIGTERM ends them all. Nothing is ever taken by it: the enforcer
    plans in shadow, or does what people approve where policy.acting.mode is plan or act.

    \b
    Examples:
      quartermaster up
      quartermaster up --parts        which parts, and where their health is told
      quartermaster up --without dashboard
      curl -s localhost:9505/status   how each part is
    """
    from cli.parts import parts_of
    from quartermaster.config.load import load_configuration

    file = session(context).config_path().absolute()
    parts = parts_of(load_configuration(file, os.environ))
    unknown = set(without or ()) - {each.name for each in parts}
    if unknown:
        known = ", ".join(each.name for each in parts)
        raise InputError(f"there is no part {', '.join(sorted(unknown))}", f"the parts are {known}")
    chosen = [each for each in parts if each.name not in (without or ())]
    if show:
        rows = [(each.name, " ".join(each.arguments), each.health) for each in chosen]
        output.table("", ["part", "quartermaster …", "health"], rows)
        return
    if not chosen:
        raise InputError("no part is left", "leave --without away")
    asyncio.run(_run(file, chosen, listen))


async def _run(file: Path, parts: "list[Part]", listen: str) -> None:
    from cli.tree import Tree

    def command(part: "Part") -> list[str]:
        return [sys.executable, "-P", "-m", "cli", "--config", str(file), *part.arguments]

    # A page that is read line by line must come line by line, and without colours.
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    width = max(len(each.name) for each in parts)

    def say(name: str, words: str) -> None:
        typer.echo(f"{name:{width}} | {words}")
        sys.stdout.flush()

    tree = Tree(parts, command, environment, say)
    stop = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, stop.set)
    async with _state(tree, listen):
        tree.say("up", f"{len(parts)} parts; how they are: http://{listen}/status")
        await tree.run(stop, _healthy)
    tree.say("up", "all parts have ended")


async def _healthy(part: "Part") -> None:
    """Wait until the part answers at its page, or for two minutes."""
    import aiohttp

    end_s = time.monotonic() + _READY_S
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as client:
        while time.monotonic() < end_s:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with client.get(part.health) as answer:
                    if answer.status < 500:
                        return
            await asyncio.sleep(0.2)


@contextlib.asynccontextmanager
async def _state(tree: "Tree", listen: str):  # noqa: ANN202 - an async context of nothing
    """Tell how the parts are. Raises InputError where the address cannot be had."""
    from aiohttp import web

    app = web.Application()
    app.add_routes(
        [
            web.get("/healthz", lambda _: _health(tree)),
            web.get("/status", lambda _: _status(tree)),
            web.get("/metrics", lambda _: _metrics(tree)),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    host, _, port = listen.rpartition(":")
    try:
        try:
            await web.TCPSite(runner, host.strip("[]") or None, int(port)).start()
        except (OSError, OverflowError, ValueError) as error:
            raise InputError(
                f"--listen {listen} cannot be listened on: {error}", "another up may run; or name a free port"
            ) from error
        yield
    finally:
        await runner.cleanup()


async def _health(tree: "Tree") -> "web.Response":
    from aiohttp import web

    away = [name for name, each in tree.standings.items() if not each.process]
    return web.Response(
        text=f"{', '.join(away)}: not running\n" if away else "ok\n", status=503 if away else 200
    )


async def _status(tree: "Tree") -> "web.Response":
    from aiohttp import web

    parts = [
        {
            "part": name,
            "running": bool(each.process),
            "process": each.process or None,
            "since": to_iso(int(each.since_s * 1000)) if each.process else None,
            "restarts": each.restarts,
            "last_exit": each.last_exit,
            "health": each.part.health or None,
        }
        for name, each in tree.standings.items()
    ]
    return web.json_response({"at": to_iso(now_ms()), "parts": parts})


async def _metrics(tree: "Tree") -> "web.Response":
    """Two gauges a part, in Prometheus' text format; the names are ours, and need no escape."""
    from aiohttp import web

    lines = ["# TYPE quartermaster_up_part_running gauge"]
    lines += [
        f'quartermaster_up_part_running{{part="{n}"}} {int(bool(e.process))}'
        for n, e in tree.standings.items()
    ]
    lines += ["# TYPE quartermaster_up_part_restarts_total counter"]
    lines += [
        f'quartermaster_up_part_restarts_total{{part="{n}"}} {e.restarts}' for n, e in tree.standings.items()
    ]
    return web.Response(text="\n".join(lines) + "\n", content_type="text/plain")
