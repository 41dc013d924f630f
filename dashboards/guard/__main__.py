"""`python -m dashboards.guard CONFIGURATION HOST PORT`: Streamlit and the guard in front of it, in one process."""

import os
import secrets
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn

from dashboards.guard.entrance import entrance
from dashboards.guard.gate import Gate
from dashboards.guard.headers import policy
from dashboards.guard.oidc import secrets_of
from dashboards.guard.standing import STANDING
from quartermaster.clock import now_ms
from quartermaster.config.load import load_configuration

_LARGEST_MESSAGE = 1024 * 1024  # from a browser: what widgets say
_MOST_AT_ONCE = 2_000
_HEADERS_AT_MOST = 32 * 1024
_GRACE_S = 3
# What no user's settings change; look and behaviour are in dashboards/site/.streamlit.
_HELD: dict[str, Any] = {
    "server_headless": True,
    "server_enableCORS": True,
    "server_enableXsrfProtection": True,
    "server_baseUrlPath": "",
    "server_fileWatcherType": "none",
    "server_allowedHosts": [],
    "server_trustedUserHeaders": {},
    "server_scriptHealthCheckEnabled": False,
    "browser_gatherUsageStats": False,
    "client_showErrorDetails": "none",
    "global_developmentMode": False,
    "logger_level": "warning",
}


def main(path: Path, host: str, port: int) -> None:
    """Serve until SIGTERM. Raises ConfigurationError."""
    part = load_configuration(path, os.environ).dashboards
    from streamlit import config
    from streamlit.starlette import App
    from streamlit.user_info import generate_login_redirect_url
    from streamlit.web.bootstrap import load_config_options

    cookie_secret = secrets.token_urlsafe(48)
    script = Path(str(files("dashboards.site") / "app.py"))
    app = App(script, secrets=secrets_of(part, cookie_secret) if part.sign_in == "oidc" else None)
    load_config_options(_HELD)
    config.set_option("server.cookieSecret", cookie_secret)
    STANDING.sign_in = part.sign_in
    gate = Gate(
        app,
        entrance(part, port, cookie_secret),
        STANDING.sessions,
        policy(),
        now_ms=now_ms,
        login=lambda: generate_login_redirect_url("default"),
    )
    uvicorn.run(
        gate,
        host=host.strip("[]"),
        port=port,
        proxy_headers=False,  # who connects is who connects, whatever a header says
        server_header=False,
        ws_max_size=_LARGEST_MESSAGE,
        h11_max_incomplete_event_size=_HEADERS_AT_MOST,
        http="h11",
        limit_concurrency=_MOST_AT_ONCE,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_S,
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
