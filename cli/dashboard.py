"""`quartermaster dashboard`: the pages for managers, served to this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from importlib.resources import files
from pathlib import Path
from typing import Annotated
from urllib.request import urlopen

import typer

from cli.session import session
from quartermaster.errors import InputError, QuartermasterError

_LOOPBACK = "127.0.0.1"
_PATIENCE_S = 60
_FAREWELL_S = 5


def dashboard(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="Where to listen.")] = 8501,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
) -> None:
    """Serve the Overview page to this machine until Ctrl-C.

    \b
    Examples:
      quartermaster dashboard                        opened in a browser
      quartermaster dashboard --no-browser -p 9000   at http://127.0.0.1:9000
    """
    serve(session(context).config_path().absolute(), port, browser=browser)


def serve(path: Path, port: int = 8501, *, browser: bool = True) -> None:
    """Serve the pages of a configuration's ledger until Ctrl-C.

    Raises ConfigurationError, LedgerError where there is nothing to show, InputError for a port that is taken,
    QuartermasterError when the server ends.
    """
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    with open_configured(load_configuration(path, os.environ), read_only=True):
        pass  # it is there, and at our revision
    signal.siginterrupt(signal.SIGINT, True)  # with polars loaded, Ctrl-C would not end a wait
    _must_be_free(port)
    url = f"http://{_LOOPBACK}:{port}"
    server = subprocess.Popen(  # noqa: S603 - our own interpreter and file
        _command(port), env=os.environ | {"QUARTERMASTER_CONFIG": str(path)}, stdout=subprocess.DEVNULL
    )
    try:
        _await(server, url)
        typer.echo(f"The dashboard is at {url} (Ctrl-C ends it)")
        if browser and _has_screen():
            webbrowser.open(url)
        if server.wait():
            raise QuartermasterError("the dashboard's server ended by itself", "what it wrote above says why")
    except KeyboardInterrupt:
        typer.echo("The dashboard has ended")
    finally:
        _end(server)


def _command(port: int) -> list[str]:
    """Look and behaviour are in dashboards/site/.streamlit; here is what no user's settings change."""
    app = str(files("dashboards.site") / "app.py")
    held = {
        "server.address": _LOOPBACK,
        "server.port": str(port),
        "server.headless": "true",
        "server.enableCORS": "true",
        "server.enableXsrfProtection": "true",
        "server.baseUrlPath": "",
        "browser.gatherUsageStats": "false",
        "client.showErrorDetails": "none",
        "logger.level": "warning",
    }
    return [
        sys.executable,
        "-P",
        "-m",
        "streamlit",
        "run",
        app,
        *(f"--{key}={value}" for key, value in held.items()),
    ]


def _must_be_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError as error:
            raise InputError(
                f"port {port} of {_LOOPBACK} cannot be used: {error.strerror}", "choose another with --port"
            ) from error


def _await(server: "subprocess.Popen[bytes]", url: str) -> None:
    """Wait until the server answers. Raises QuartermasterError when it ends or says nothing."""
    give_up_at = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up_at and server.poll() is None:
        with contextlib.suppress(OSError), urlopen(f"{url}/_stcore/health", timeout=1) as answer:  # noqa: S310
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise QuartermasterError("the dashboard's server did not start", "what it wrote above says why")


def _has_screen() -> bool:
    """Without one, a browser in text mode would take the terminal."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _end(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    try:
        server.wait(_FAREWELL_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
