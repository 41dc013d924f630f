"""Receivers on loopback that keep what they were sent: a mail server by aiosmtpd, and sendings that lead there."""

import email
import socket
from email.message import Message
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

YAML = """
business: {{time_zone: Europe/Berlin}}
clusters: [{{name: demo}}]
notify:
  retry: 1s
  channels: [{channels}]
  routes: [{{team: vision, channels: [vision-mail]}}]
reports:
  sending:
{sendings}
"""


class Mailbox:
    """A real SMTP server. It refuses mail to addresses that begin with `bounce`."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        self.to: list[list[str]] = []
        with socket.create_server(
            ("127.0.0.1", 0)
        ) as free:  # the controller knocks at the port that it was given
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self._controller = Controller(self, hostname="127.0.0.1", port=port)

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._controller.stop()

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[Any]
    ) -> str:
        if address.startswith("bounce"):
            return "550 there is nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 fine"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        self.mails.append(email.message_from_bytes(content if isinstance(content, bytes) else b""))
        self.to.append(list(envelope.rcpt_tos))
        return "250 taken"


def files_of(mail: Message) -> dict[str, bytes]:
    """A mail's attachments by name."""
    return {
        part.get_filename() or "": part.get_payload(decode=True)  # type: ignore[misc]
        for part in mail.walk()
        if part.get_content_disposition() == "attachment"
    }


def body_of(mail: Message) -> str:
    """Its plain text."""
    part = next(part for part in mail.walk() if part.get_content_type() == "text/plain")
    content = part.get_payload(decode=True)
    return content.decode() if isinstance(content, bytes) else ""
