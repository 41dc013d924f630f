"""Whether a channel's server can be reached, without sending anything."""

import smtplib
import socket
import ssl
from typing import Any

from enforcer.ladder.carried import load, service_of

_TLS_PORT, _PORT = 587, 25


def reached(url: str, timeout_s: float) -> str:
    """ "" where the mail server of a channel's URL greets, and takes the name and password where there are some; else
    why not, for a person and without the URL. Of other channels it is only said whether the URL is understood: they
    have no question that sends nothing. Never raises."""
    try:
        service = service_of(load(), url)
    except Exception as error:  # noqa: BLE001 - a hundred services' code, and what it raises may quote the URL
        return f"apprise failed: {type(error).__name__}"
    if isinstance(service, str):
        return service
    return _greeted(service, timeout_s) if is_mail(url) else ""


def is_mail(url: str) -> bool:
    """Whether it is a channel of mail, whose server can be asked."""
    return url.partition("://")[0].lower() in {"mailto", "mailtos"}


def _greeted(service: Any, timeout_s: float) -> str:  # noqa: ANN401 - apprise's, whose types are half known
    mode = str(service.secure_mode)
    host, port = str(service.smtp_host), int(service.port or (_TLS_PORT if mode != "insecure" else _PORT))
    where = f"{host}:{port}"
    try:
        with _open(mode, host, port, timeout_s) as server:
            server.ehlo()
            if mode == "starttls":
                server.starttls(context=ssl.create_default_context())
                server.ehlo()
            if service.user and service.password:
                server.login(str(service.user), str(service.password))
            server.noop()
    except smtplib.SMTPAuthenticationError:
        return f"{where} does not take the name and the password"
    except smtplib.SMTPException as error:
        return f"{where} does not answer as a mail server does: {type(error).__name__}"
    except (OSError, socket.gaierror) as error:
        return f"{where} was not reached: {error.strerror or type(error).__name__}"
    return ""


def _open(mode: str, host: str, port: int, timeout_s: float) -> smtplib.SMTP:
    if mode == "ssl":
        return smtplib.SMTP_SSL(host, port, timeout=timeout_s, context=ssl.create_default_context())
    return smtplib.SMTP(host, port, timeout=timeout_s)
