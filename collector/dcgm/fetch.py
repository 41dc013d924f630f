"""Fetching a page over HTTP: its bytes, or a failure with its reason; no exception, no secret."""

import asyncio
import ssl
import zlib
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from collector.targets import Target
from quartermaster.config.clusters import DcgmPart
from quartermaster.config.web import TlsPart
from quartermaster.errors import ConfigurationError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole page as it came, unpacked; `date` is what its server says that the time is, where it does."""

    body: bytes
    content_type: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """No page, and why: `reason` is one of few words, `detail` one line for the log."""

    reason: str
    detail: str = ""


class Fetcher:
    """One cluster's HTTP client, with its credentials: connections are kept, no target waits for another."""

    def __init__(self, settings: DcgmPart) -> None:
        self._limit = settings.max_page_mib * MIB
        self._timeout_s = settings.timeout_ms / 1000
        self._keepalive = max(15.0, 2.5 * settings.interval_ms / 1000)
        self._tls = tls_context(settings.tls)
        self._headers = {
            "Accept": "text/plain;version=0.0.4,*/*;q=0.1",
            "Accept-Encoding": "gzip",
            "User-Agent": "quartermaster",
        }
        if settings.basic_auth is not None:
            password = settings.basic_auth.password.reveal()
            self._headers["Authorization"] = aiohttp.encode_basic_auth(settings.basic_auth.username, password)
        if settings.bearer_token is not None:
            self._headers["Authorization"] = f"Bearer {settings.bearer_token.reveal()}"
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(
            limit=0, ssl=self._tls, keepalive_timeout=self._keepalive, ttl_dns_cache=30
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            # asyncio.timeout bounds the whole visit; aiohttp's own timers cost a fifth of its CPU beside it.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            headers=self._headers,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, target: Target) -> Fetched | Failure:
        """The target's page, within the configured time and size. A redirect is not followed."""
        if self._session is None:
            raise RuntimeError("the fetcher is not open")
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._session.get(_address(target.url), allow_redirects=False) as response,
            ):
                if response.status != 200:
                    reason = "redirect" if 300 <= response.status < 400 else f"status {response.status}"
                    return Failure(reason)
                body = await self._read(response)
                if isinstance(body, Failure):
                    return body
                return Fetched(body, response.content_type, response.headers.get("Date", ""))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return failure(error)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | Failure:
        if (response.content_length or 0) > self._limit:
            return Failure("too large", f"{response.content_length} bytes")
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in {"identity", "gzip", "x-gzip", ""}:
            return Failure("bad encoding", f"content encoding {encoding[:40]!r}")
        packed = encoding.endswith("gzip")
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if packed else None
        chunks: list[bytes] = []
        left = self._limit
        async for raw in response.content.iter_any():
            try:
                chunk = raw if unpacker is None else unpacker.decompress(raw, left + 1)
            except zlib.error as error:
                return Failure("bad encoding", str(error))
            left -= len(chunk)
            if left < 0:
                return Failure("too large", f"more than {self._limit} bytes{' unpacked' if packed else ''}")
            chunks.append(chunk)
        if unpacker is not None and not unpacker.eof:
            return Failure("half page", "the packed page has no end")
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


@lru_cache(maxsize=65_536)
def _address(url: str) -> URL:
    return URL(url)


def tls_context(settings: TlsPart) -> ssl.SSLContext:
    """The TLS settings as a context. Raises ConfigurationError when a file cannot be used."""
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.cert_file is not None:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except (OSError, ValueError) as error:
        files = ", ".join(
            str(file) for file in (settings.ca_file, settings.cert_file, settings.key_file) if file
        )
        raise ConfigurationError(
            f"tls: {files}: {error}", "each is a PEM file that the collector may read"
        ) from error
    if settings.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def failure(error: Exception) -> Failure:
    """An exception of the client as a reason in words; the detail is the system's or the library's own."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    reason = next(word for kinds, word in _REASONS if isinstance(error, kinds) or isinstance(cause, kinds))
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return Failure(reason, f"{type(error).__name__}: {' '.join(text.split())[:200]}")


_REASONS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((asyncio.TimeoutError, TimeoutError), "timeout"),
    ((aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError, ssl.SSLError), "tls"),
    ((ConnectionRefusedError,), "refused"),
    ((aiohttp.ClientConnectorDNSError,), "no such host"),
    ((aiohttp.ClientPayloadError,), "half page"),
    (
        (
            aiohttp.ServerDisconnectedError,
            ConnectionResetError,
            BrokenPipeError,
            aiohttp.ClientConnectionResetError,
        ),
        "disconnected",
    ),
    ((aiohttp.ClientResponseError,), "no http"),
    ((aiohttp.ClientConnectionError, OSError), "unreachable"),
    ((Exception,), "no http"),
)
