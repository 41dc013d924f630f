"""The wire: one request to an API server and its answer. Nothing is sent twice from here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

from collector.kubernetes.talk import Answer, Client
from collector.kubernetes.values import Json, mapping, objects, text, whole

JSON, PATCH = "application/json", "application/json-patch+json"
# Shorter together than what is left of a lease when its leader stops trusting it (`enforcer.act.lease`): what was
# sent under a lease is done, or not, before somebody else may have it.
CONNECT_S, READ_S = 2.0, 3.0
_LARGEST = 32 * 1024 * 1024
_LONGEST_PAUSE_S = 3.0


class Silence(Exception):  # noqa: N818  it is always caught and acted on
    """There was no answer that can be read: what was asked for may have happened."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the API server."""

    code: int
    body: Json
    retry_after_s: float | None = None

    @property
    def good(self) -> bool:
        """Whether it says that it was done."""
        return 200 <= self.code < 300

    @property
    def by_budget(self) -> bool:
        """Whether a PodDisruptionBudget refuses: also a pod under two of them, which no eviction gets past."""
        causes = objects(mapping(self.body.get("details")).get("causes"))
        return (self.code == 429 and any(each.get("reason") == "DisruptionBudget" for each in causes)) or (
            self.code == 500 and "more than one PodDisruptionBudget" in self.message
        )

    @property
    def message(self) -> str:
        """What the server says of it, bounded."""
        return text(self.body.get("message"), 300)

    @property
    def words(self) -> str:
        """`403: …`."""
        return f"{self.code}: {self.message or 'without words'}"


class Wire:
    """One API server, through the official client."""

    def __init__(self, client: Client, read_s: float = READ_S) -> None:
        self._client = client
        self._read_s = read_s

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask once. Raises Silence."""
        import urllib3

        headers = {"Accept": JSON} | ({} if body is None else {"Content-Type": kind})
        answer: Answer | None = None
        try:
            request = self._client.param_serialize(
                method,
                path,
                query_params=list((query or {}).items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            got = self._client.call_api(*request, _request_timeout=(CONNECT_S, self._read_s))
            answer = cast(Answer, got.response)
            return _reply(answer)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise Silence(f"{type(error).__name__}: {str(error)[:200]}") from error
        except Exception as error:
            if type(error).__module__.startswith("kubernetes."):
                raise Silence(f"{type(error).__name__}: {str(error)[:200]}") from error
            raise
        finally:
            if answer is not None:
                answer.close()

    def close(self) -> None:
        """Give up its connections."""
        self._client.rest_client.pool_manager.clear()


def _reply(answer: Answer) -> Reply:
    said: Any = answer.read(_LARGEST, True)
    try:
        body = mapping(orjson.loads(said))
    except ValueError:
        if answer.status < 300:  # good, and cut off: nobody knows
            raise
        body = {}
    code = answer.status
    if code < 300 and body.get("kind") == "Status" and body.get("status") == "Failure":
        # An eviction that two budgets forbid is answered 201, with the refusal inside (kubernetes 1.36 eviction.go).
        code = whole(body.get("code")) or 500
    wait = str(answer.headers.get("Retry-After", ""))
    return Reply(code, body, min(float(wait), _LONGEST_PAUSE_S) if wait.isdigit() else None)
