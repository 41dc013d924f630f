"""What a Prometheus says when it gives no answer, in words, and what to do about it; pure."""

import re
from collections.abc import Callable

import orjson

from quartermaster.errors import SourceError

# What servers say when a query is more than they are willing to do: Prometheus, Thanos, Mimir, VictoriaMetrics.
_TOO_MUCH = re.compile(
    r"too many (samples|series|points|chunks)|max[-_ ]?(samples|series|chunks|fetched|query|concurrent)"
    r"|query timed out|timeout|limit|too large|exceed|out of memory|context deadline",
    re.IGNORECASE,
)
_SHOWN = 300


class TooMuch(Exception):  # noqa: N818
    """The question was more than the server answers: ask for less."""


class Busy(Exception):  # noqa: N818
    """The server does not answer now; `after_s` is when it says to ask again."""

    def __init__(self, what: str, after_s: float | None = None) -> None:
        super().__init__(what)
        self.after_s = after_s


class Partial(Exception):  # noqa: N818
    """The server answered, and says that something is missing; the beginning of what it says is kept."""

    def __init__(self, what: str) -> None:
        super().__init__(" ".join(what.split())[:_SHOWN])


def too_much(status: int, text: str) -> bool:
    """Whether a status and what came with it say that less must be asked for.

    422 is Prometheus' word for a query that it began and gave up, 503 with a time-out in it for one that took
    too long; others say it in 400, 413 and 504.
    """
    if status in {413, 422, 504}:
        return True
    return status in {400, 500, 503} and _TOO_MUCH.search(text) is not None


def said(body: bytes) -> str:
    """The error in a response's body, on one line."""
    try:
        told: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        told = None
    error = told.get("error") if isinstance(told, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    text = error if isinstance(error, str) else body[: 4 * _SHOWN].decode("utf-8", "replace")
    return " ".join(text.split())[:_SHOWN] or "nothing more"


def seconds_of(retry_after: str | None, from_date: Callable[[str], float | None]) -> float | None:
    """The pause that a Retry-After asks for; None without one."""
    if not retry_after:
        return None
    text = retry_after.strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 8 else from_date(text)


def not_allowed(url: str, status: int, text: str) -> SourceError:
    """401 and 403."""
    if status == 401:
        return SourceError(
            f"{url}: it wants to know who asks (401: {text})",
            "give it basic_auth, bearer_token or headers in the cluster's `prometheus` part, by reference",
        )
    return SourceError(
        f"{url}: this may not be read (403: {text})",
        "let these credentials query it; a tenant's header, such as X-Scope-OrgID, may be missing",
    )


def redirected(url: str, location: str) -> SourceError:
    """A redirect, which is not followed: credentials would go along."""
    return SourceError(
        f"{url}: it sends elsewhere: {location[:_SHOWN]!r}",
        "name the address itself; a page to log in needs a token instead: bearer_token or headers",
    )


def no_json(url: str, what: str) -> SourceError:
    """Something that is no Prometheus, or a page before it."""
    return SourceError(
        f"{url}: this is no Prometheus' answer: {what}",
        "name the address before /api/v1: http://host:9090, of Thanos its querier, "
        "of Mimir …/prometheus, of VictoriaMetrics …/select/0/prometheus",
    )


def unreachable(error: Exception) -> str:
    """An exception of the HTTP client in words."""
    text = " ".join(str(error).split())
    if "timed out" in text or "Timeout" in type(error).__name__:
        return "it does not answer in time"
    if "CERTIFICATE" in text or "SSL" in text:
        return f"its certificate is not accepted ({text[:_SHOWN]})"
    reason = re.search(
        r"(Connection refused|Name or service not known|[Nn]o route to host|reset by peer)", text
    )
    return f"it cannot be reached ({reason[0] if reason else text[:_SHOWN]})"
