"""Talking to a Prometheus, or what answers like one: a question in, its answer or a reason out.

prometheus-api-client holds the session, the credentials and the headers, and asks the small questions. Ranges
of samples go round it, over the same session: it decodes JSON to Python objects and lets warnings fall.
"""

import io
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import requests
from urllib3.exceptions import HTTPError, InsecureRequestWarning

from collector.kubernetes.clocks import ServerClock
from collector.prometheus.answer import Answer, NoAnswer, Reading
from collector.prometheus.refusal import (
    Busy,
    Partial,
    TooMuch,
    no_json,
    not_allowed,
    redirected,
    said,
    seconds_of,
    too_much,
    unreachable,
)
from quartermaster.clock import SECOND_MS, now_ms
from quartermaster.errors import SourceError

if TYPE_CHECKING:
    from quartermaster.config.prometheus import PrometheusPart

Result = TypeVar("Result")
# Its own, as a watch's: two questions are asked at a time, in threads.
_dice = random.Random()  # noqa: S311


class _Client(Protocol):
    """What is used of prometheus-api-client."""

    headers: dict[str, str]
    auth: tuple[str, str] | None

    def custom_query(self, query: str, params: dict[str, object]) -> list[dict[str, Any]]: ...
    def get_label_values(self, label_name: str, params: dict[str, object]) -> object: ...
    def close(self) -> None: ...


MIB = 1024 * 1024
# One answer: what is asked for is an eighth of it; a server whose samples are longer is asked for less.
_LARGEST = 384 * MIB
# What small questions are answered with, which is decoded to Python's objects; of an error only the beginning.
_LARGEST_SMALL, _LARGEST_ERROR = 64 * MIB, 64 * 1024
_PIECE = MIB
# An answer may take so many times the time in which its next byte must come.
_WHOLE = 10
# A question is tried again so often; and for so long, all together, while nothing at all succeeds.
_TRIES, _PATIENCE_S, _LONGEST_PAUSE_S = 4, 120.0, 60.0


class Connection:
    """A connection to one Prometheus. One thread at a time. Raises ConfigurationError for unusable secrets."""

    def __init__(self, part: "PrometheusPart", *, sleep: Callable[[float], None] = time.sleep) -> None:
        from prometheus_api_client.prometheus_connect import PrometheusConnect
        from urllib3.util.retry import Retry

        self.url = part.url.rstrip("/")
        self.clock = ServerClock()
        self._part, self._sleep = part, sleep
        self._timeout_s = part.timeout_ms / 1000
        self._session = _session(part)
        self._session.hooks["response"].append(self._look)
        connect = cast(Any, PrometheusConnect)(
            self.url,
            headers=_headers(part),
            auth=_auth(part),
            session=self._session,
            retry=Retry(total=0, redirect=0),
            timeout=self._timeout_s,
            method="POST",
        )
        self._client = cast(_Client, connect)
        self._failing_since: float | None = None

    @cached_property
    def second(self) -> "Connection":
        """Another one to the same server, for one thread more. It is closed with this one."""
        return Connection(self._part, sleep=self._sleep)

    def close(self) -> None:
        """Close the connection."""
        if "second" in self.__dict__:
            self.second.close()
        self._client.close()

    def range(self, query: str, at_ms: int) -> Answer:
        """The samples of a range selector, as of an instant.

        Raises TooMuch where less must be asked for, Partial where the server says that some is missing, and
        SourceError where it does not answer as it should.
        """
        answer = self._patiently(lambda: self._range(query, at_ms))
        if answer.warnings:
            raise Partial("; ".join(answer.warnings))
        return answer

    def instant(self, query: str, at_ms: int) -> list[tuple[Mapping[str, str], float]]:
        """The labels and values of an instant vector. Raises as `range` does."""
        try:
            found = self._patiently(lambda: self._client.custom_query(query, {"time": at_ms / 1000}))
            return [(dict(each["metric"]), float(each["value"][1])) for each in found]
        except (TypeError, KeyError, IndexError, ValueError) as error:
            raise no_json(self.url, f"a vector that is none: {error}") from error

    def label_values(self, label: str, match: str, from_ms: int, until_ms: int) -> list[str]:
        """The values of a label among the series that match and have samples in a span. Raises as `range`."""
        span: dict[str, object] = {"match[]": match, "start": from_ms / 1000, "end": until_ms / 1000}
        found = self._patiently(lambda: self._client.get_label_values(label, span))
        if not isinstance(found, list) or not all(
            isinstance(each, str) for each in cast(list[object], found)
        ):
            raise no_json(self.url, "a list of values that is none")
        return cast(list[str], found)

    def _range(self, query: str, at_ms: int) -> Answer:
        client = self._client
        response = self._session.request(
            "POST",
            f"{self.url}/api/v1/query",
            data={"query": query, "time": f"{at_ms // 1000}.{at_ms % 1000:03d}"},
            headers=client.headers,
            auth=client.auth,
            timeout=self._timeout_s,
            stream=True,
        )
        reading = Reading()
        with response:
            for piece in self._all(response, _LARGEST):
                reading.feed(piece)
        return reading.answer()

    def _all(self, response: requests.Response, most: int) -> Iterator[bytes]:
        """The body, piece by piece. Raises TooMuch where it is more than `most`."""
        size = 0
        for piece in self._pieces(response):
            size += len(piece)
            if size > most:
                raise TooMuch(f"the answer has more than {most // MIB} MiB")
            yield piece

    def _beginning(self, response: requests.Response, most: int) -> bytes:
        """The body, up to the piece that makes it more than `most`."""
        pieces: list[bytes] = []
        size = 0
        for piece in self._pieces(response):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                break
        return b"".join(pieces)

    def _pieces(self, response: requests.Response) -> Iterator[bytes]:
        """What has come, and no waiting for more of it: a server that sends byte by byte would never end it."""
        end = time.monotonic() + self._timeout_s * _WHOLE
        while piece := cast(bytes, response.raw.read1(_PIECE, decode_content=True)):
            yield piece
            if time.monotonic() > end:
                raise TooMuch(f"the answer took more than {self._timeout_s * _WHOLE:.0f} s")

    def _look(self, response: requests.Response, **told: object) -> None:
        """See to it that a response is an answer of a Prometheus before anybody reads it."""
        received_ms = now_ms()
        sent_ms = received_ms - math.ceil(response.elapsed.total_seconds() * SECOND_MS)
        self.clock.observe(sent_ms, received_ms, response.headers.get("Date", ""))
        try:
            self._judge(response, streamed=bool(told.get("stream")))
        except BaseException:
            response.close()
            raise

    def _judge(self, response: requests.Response, *, streamed: bool) -> None:
        status = response.status_code
        if response.is_redirect:
            raise redirected(self.url, response.headers.get("Location", ""))
        if status in {401, 403}:
            raise not_allowed(self.url, status, said(self._beginning(response, _LARGEST_ERROR)))
        if status != 200:
            text = said(self._beginning(response, _LARGEST_ERROR))
            if too_much(status, text):
                raise TooMuch(f"status {status}: {text}")
            if status == 429 or status >= 500 or status == 408:
                raise Busy(
                    f"status {status}: {text}", seconds_of(response.headers.get("Retry-After"), _http_s)
                )
            raise no_json(self.url, f"status {status}: {text}")
        if "json" not in response.headers.get("Content-Type", ""):
            raise no_json(self.url, f"{response.headers.get('Content-Type', 'no type')!r} instead of JSON")
        if not streamed:
            self._warned(response)

    def _warned(self, response: requests.Response) -> None:
        # prometheus-api-client reads it from here: whole, and no larger than it may be.
        body = b"".join(self._all(response, _LARGEST_SMALL))
        response.raw = io.BytesIO(body)
        try:
            told: object = response.json()
        except (ValueError, RecursionError) as error:
            raise no_json(self.url, f"JSON that has an error: {error}") from error
        if not isinstance(told, dict) or "data" not in told:
            raise no_json(self.url, f"JSON without data: {said(body)}")
        warned: object = cast(dict[str, Any], told).get("warnings")
        if warned:
            raise Partial(
                "; ".join(map(str, cast(list[object], warned))) if isinstance(warned, list) else str(warned)
            )

    def _patiently(self, ask: Callable[[], Result]) -> Result:
        """Ask, again after a pause where the server is busy or away; for a while."""
        for attempt in range(1, _TRIES + 1):
            try:
                found = ask()
            except Busy as busy:
                self._pause(busy, attempt)
            except (requests.RequestException, HTTPError, OSError, NoAnswer) as error:
                if isinstance(error, NoAnswer):
                    raise no_json(self.url, str(error)) from error
                self._pause(Busy(unreachable(error)), attempt)
            else:
                self._failing_since = None
                return found
        raise AssertionError

    def _pause(self, busy: Busy, attempt: int) -> None:
        now = time.monotonic()
        since = self._failing_since = now if self._failing_since is None else self._failing_since
        pause_s = busy.after_s if busy.after_s is not None else 0.5 * 2 ** (attempt - 1)
        if pause_s > _LONGEST_PAUSE_S or now - since > _PATIENCE_S:
            raise SourceError(
                f"{self.url}: {busy}",
                "see to the server, or wait; what was read is kept, so give the same command again",
            ) from busy
        if attempt == _TRIES:
            raise TooMuch(str(busy)) from busy
        self._sleep(pause_s * _dice.uniform(1.0, 1.2))


def _session(part: "PrometheusPart") -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.max_redirects = 0
    session.verify = not part.tls.insecure_skip_verify and (
        str(part.tls.ca_file) if part.tls.ca_file else True
    )
    if part.tls.insecure_skip_verify:
        warnings.simplefilter("ignore", InsecureRequestWarning)
    if part.tls.cert_file is not None:
        session.cert = (str(part.tls.cert_file), str(part.tls.key_file))
    # Packed, an answer costs the server more than all else that it does for it.
    session.headers.update({"Accept-Encoding": "identity", "User-Agent": "quartermaster"})
    return session


def _headers(part: "PrometheusPart") -> dict[str, str]:
    headers = {header.name: header.value.reveal() for header in part.headers}
    if part.bearer_token is not None:
        headers["Authorization"] = f"Bearer {part.bearer_token.reveal()}"
    return headers


def _auth(part: "PrometheusPart") -> tuple[str, str] | None:
    if part.basic_auth is None:
        return None
    return part.basic_auth.username, part.basic_auth.password.reveal()


def _http_s(date: str) -> float | None:
    """Seconds from now to an HTTP date."""
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
