"""A small HTTP/1.1 server for pages: fast, and able to do wrong what real servers and networks do wrong."""

import asyncio
import gzip
from collections.abc import Sequence
from email.utils import formatdate
from typing import Protocol, cast

from typing_extensions import override

from simulator.quirks import OTHER_PAGE

_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_DRIP_BYTES = 1024
_DRIP_S = 0.2
_LONGEST_REQUEST = 65_536


class Site(Protocol):
    """What is served: pages by node, as they are now."""

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes' names."""
        ...

    def now_ms(self) -> int:
        """The site's own time, for the Date header."""
        ...

    def page(self, node: str) -> bytes | None:
        """The node's page; None where its exporter is down."""
        ...

    def quirks(self, node: str) -> Sequence[str]:
        """The node's quirks."""
        ...


class PageProtocol(asyncio.Protocol):
    """One connection: GET /<node>/metrics gives the node's page, GET / the list of nodes."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._waiting = b""
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while self._transport is not None and not self._transport.is_closing():
            head, end, rest = self._waiting.partition(b"\r\n\r\n")
            if not end:
                if len(head) > _LONGEST_REQUEST:
                    self._answer(self._transport, b"431 Request Header Fields Too Large", b"")
                    self._transport.close()
                return
            self._waiting = rest
            self._request(self._transport, head)

    def _request(self, transport: asyncio.Transport, head: bytes) -> None:
        line, _, headers = head.partition(b"\r\n")
        method, _, target = line.partition(b" ")
        path = target.partition(b" ")[0].partition(b"?")[0].decode("latin-1").strip("/")
        node, _, leaf = path.partition("/")
        answered = True
        if method != b"GET":
            self._answer(transport, b"405 Method Not Allowed", b"only GET\n")
        elif not path:
            listed = "".join(f"/{name}/metrics\n" for name in self._site.nodes)
            self._answer(transport, b"200 OK", listed.encode())
        elif leaf != "metrics" or node not in self._site.nodes:
            self._answer(transport, b"404 Not Found", b"there is no such page; / lists them\n")
        else:
            answered = self._metrics(transport, node, b"gzip" in headers)
        if answered and b"connection: close" in headers.lower():
            transport.close()

    def _metrics(self, transport: asyncio.Transport, node: str, packs: bool) -> bool:
        """Answer as the node's quirks have it; whether all that will ever come was sent."""
        quirks = self._site.quirks(node)
        page = self._site.page(node)
        if page is None or "refuse" in quirks:
            transport.abort()
        elif "hang" in quirks:
            return False
        elif "error-500" in quirks:
            self._answer(transport, b"500 Internal Server Error", b"failed to gather metrics\n")
        elif "other-exporter" in quirks:
            self._answer(transport, b"200 OK", OTHER_PAGE)
        elif "half-page" in quirks:
            transport.write(self._head(b"200 OK", len(page)) + page[: len(page) // 2])
            transport.close()
        elif "slow-drip" in quirks:
            transport.write(self._head(b"200 OK", len(page)))
            self._drip(transport, page)
            return False
        elif "gzip" in quirks and packs:
            packed = gzip.compress(page, 1)
            transport.write(self._head(b"200 OK", len(packed), b"Content-Encoding: gzip\r\n") + packed)
        else:
            self._answer(transport, b"200 OK", page)
        return True

    def _drip(self, transport: asyncio.Transport, rest: bytes) -> None:
        if transport.is_closing() or not rest:
            return
        transport.write(rest[:_DRIP_BYTES])
        asyncio.get_running_loop().call_later(_DRIP_S, self._drip, transport, rest[_DRIP_BYTES:])

    def _answer(self, transport: asyncio.Transport, status: bytes, body: bytes) -> None:
        transport.write(self._head(status, len(body)))
        transport.write(body)

    def _head(self, status: bytes, length: int, more: bytes = b"") -> bytes:
        date = formatdate(self._site.now_ms() / 1000, usegmt=True).encode()
        return b"HTTP/1.1 %b\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n" % (
            status,
            date,
            _TYPE,
            length,
            more,
        )
