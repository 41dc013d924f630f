"""`quartermaster dashboard`: the pages for people, served behind the guard that lets them in."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.request import urlopen

import typer

from cli.session import session
from quartermaster.errors import InputError, QuartermasterError

if TYPE_CHECKING:
    from quartermaster.config.dashboards import DashboardsPart

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - where to knock when it listens everywhere
_PATIENCE_S = 60
_FAREWELL_S = 5


def dashboard(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option("--port", "-p", min=1, max=65535, help="Listen here, whatever dashboards.listen says."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
) -> None:
    """Serve the pages until Ctrl-C: to this machine, or to who signs in.

    Without more, they are for this machine alone, where everybody sees everything. With dashboards.sign_in people
    sign in at a provider of OpenID Connect, or by a proxy in front, and see the teams that dashboards.access gives
    them. Nobody else is answered.

    \b
    Examples:
      quartermaster dashboard                        opened in a browser
      quartermaster dashboard --no-browser -p 9000   at http://127.0.0.1:9000
    """
    serve(session(context).config_path().absolute(), port, browser=browser)


def serve(path: Path, port: int | None = None, *, browser: bool = True) -> None:
    """Serve the pages of a configuration's ledger until Ctrl-C; without a port at the one that it says.

    Raises ConfigurationError, LedgerError where there is nothing to show, InputError for a port that is taken,
    QuartermasterError when the server ends.
    """
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(path, os.environ)
    with open_configured(configuration, read_only=True):
        pass  # it is there, and at our revision
    part = configuration.dashboards
    _must_have_its_secrets(part)
    host, _, configured = part.listen.rpartition(":")
    port = port or int(configured)
    signal.siginterrupt(signal.SIGINT, True)  # with polars loaded, Ctrl-C would not end a wait
    _must_be_free(host, port)
    near = f"http://{_ANYWHERE.get(host, host)}:{port}"
    server = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", "dashboards.guard", str(path), host, str(port)],
        env=os.environ | {"QUARTERMASTER_CONFIG": str(path)},
        stdout=subprocess.DEVNULL,
    )
    try:
        _await(server, near)
        url = part.address or near
        typer.echo(f"The dashboard is at {url} (Ctrl-C ends it)")
        if browser and _has_screen():
            webbrowser.open(url)
        if server.wait():
            raise QuartermasterError("the dashboard's server ended by itself", "what it wrote above says why")
    except KeyboardInterrupt:
        typer.echo("The dashboard has ended")
    finally:
        _end(server)


def _must_have_its_secrets(part: "DashboardsPart") -> None:
    """Raises ConfigurationError for a secret that is not there, before anybody tries to sign in."""
    if part.sign_in == "oidc" and part.oidc is not None:
        part.oidc.client_secret.reveal()
    if part.sign_in == "proxy" and part.proxy is not None and part.proxy.secret is not None:
        part.proxy.secret.reveal()


def _must_be_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise InputError(
                f"port {port} of {host} cannot be used: {error.strerror}", "choose another with --port"
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
