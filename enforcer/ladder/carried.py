"""A message carried by apprise to one channel: accepted, or why not. Words and logs have nothing of the URL."""

import logging
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

_CODE = re.compile(r"\berror=(\d{3})\b")
_MAIL = {"mailto", "mailtos"}
_UNKNOWN = "apprise knows no channel of such a URL"


class Words(Protocol):
    """What is carried: a title and a body in plain text."""

    @property
    def title(self) -> str:
        """One line."""
        ...

    @property
    def body(self) -> str:
        """Paragraphs."""
        ...


def carry(
    url: str,
    message: Words,
    timeout_s: float,
    to: str = "",
    *,
    files: Sequence[Path] = (),
    warns: bool = True,
) -> str:
    """Send a message and files; "" where the channel's server accepted it, else why not, for a person. Never raises.

    `to` is a mail address that takes the place of the URL's own addressees. `timeout_s` bounds each step, so that a
    server that answers drop by drop may take longer. Redirects are not followed: what answers there has not taken the
    message.
    """
    try:
        apprise = load()
        service = service_of(apprise, url, to)
        if isinstance(service, str):
            return service
        service.redirects = False
        service.socket_connect_timeout = service.socket_read_timeout = timeout_s
        postman = apprise.Apprise(asset=service.asset)
        postman.add(service)
        result = postman.notify(
            body=message.body,
            title=message.title,
            notify_type=apprise.NotifyType.WARNING if warns else apprise.NotifyType.INFO,
            body_format=apprise.NotifyFormat.TEXT,
            **({"attach": [str(file) for file in files]} if files else {}),
        )
    except Exception as error:  # noqa: BLE001 - a hundred services' code, and what it raises may quote the URL
        return f"apprise failed: {type(error).__name__}"
    attempts = [attempt for service in result for attempt in service]
    if attempts and attempts[-1].status == apprise.AppriseResultStatus.SUCCESS:
        return ""  # the result as a whole also calls what is `optional` in the URL a success
    told = " ".join(entry.message for attempt in attempts for entry in attempt)
    code = _CODE.search(told)
    return (
        f"its server answered {code[1]}"
        if code
        else f"its server was not reached, did not answer in {timeout_s:g} s, or refused it"
    )


def load() -> Any:  # noqa: ANN401 - a module whose types are half known
    """Apprise with all its services; the first time it takes a second of CPU.

    It is hushed: it logs hosts and, for debugging, whole URLs, as urllib3 does paths, and in a webhook those are the
    secret. Raises ImportError.
    """
    logger = logging.getLogger("apprise")
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)
    apprise = import_module("apprise")
    apprise.plugins.N_MGR.load_modules()
    return apprise


def service_of(apprise: Any, url: str, to: str = "") -> Any:  # noqa: ANN401 - what apprise loaded
    """One of apprise's hundred services, or in words why there is none."""
    if "://" not in url:  # apprise would log it in full
        return _UNKNOWN
    parts = apprise.plugins.url_to_dict(url)
    if not parts:
        return _UNKNOWN
    if to:
        if parts.get("schema") not in _MAIL:
            return "it is no channel of mail, and an owner is written to by mail"
        parts |= {"targets": [to], "cc": None, "bcc": None}
    asset = apprise.AppriseAsset(
        app_id="Quartermaster",
        app_desc="Quartermaster",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
        service_timeout=0,  # with one, apprise has a thread of its own, which keeps the process from ending
        http_redirects=False,
        interpret_emojis=False,
        interpret_escapes=False,
        storage_mode="memory",
        pgp_autogen=False,
        pem_autogen=False,
    )
    return apprise.Apprise.instantiate(parts, asset=asset) or _UNKNOWN
