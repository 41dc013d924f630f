"""Talking to one API server through the official client: raw answers, and what went wrong as a value."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

import orjson

from collector.kubernetes.clocks import ServerClock
from collector.kubernetes.values import Json, mapping, text
from quartermaster.clock import now_ms
from quartermaster.config.clusters import KubernetesPart
from quartermaster.errors import ConfigurationError

FORBIDDEN, ABSENT, EXPIRED, BUSY, INVALID = "forbidden", "absent", "expired", "busy", "invalid"
SILENT, AWAY = "silent", "away"
_KINDS = {
    401: FORBIDDEN,
    403: FORBIDDEN,
    404: ABSENT,
    410: EXPIRED,
    429: BUSY,
    503: BUSY,
    400: INVALID,
    422: INVALID,
}
JSON = "application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# An answer that is no stream is no larger: a page of 500 pods is 3 MB.
_LARGEST_MIB = 256
_CONNECT_S, _READ_S = 10.0, 60.0
_LONGEST_PAUSE_S = 300.0


class Trouble(Exception):  # noqa: N818  it is always caught and acted on
    """What an API server answered instead, or that it did not: `kind` is one of the words above."""

    def __init__(self, kind: str, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after_s = retry_after_s


class Answer(Protocol):
    """What is used of a urllib3 response."""

    status: int
    headers: Any

    def stream(self, amt: int, decode_content: bool) -> Iterator[bytes]:
        """The body, as it comes."""
        ...

    def read(self, amt: int, decode_content: bool) -> bytes:
        """The body's next bytes."""
        ...

    def shutdown(self) -> None:
        """End what another thread reads of it. Raises RuntimeError or OSError where it has ended."""
        ...

    def close(self) -> None:
        """Give the connection up."""
        ...


class Client(Protocol):
    """What is used of the official client; its stubs are of an older one."""

    rest_client: Any

    def param_serialize(self, method: str, resource_path: str, **more: object) -> tuple[object, ...]:
        """A request, with the credentials that the client has."""
        ...

    def call_api(self, *request: object, _request_timeout: tuple[float, float]) -> Any:  # noqa: ANN401
        """The answer, its body not read."""
        ...


class Api:
    """One API server, as the configuration names it."""

    def __init__(self, client: Client, wall: Callable[[], int] = now_ms) -> None:
        self._client = client
        self._wall = wall
        self.clock = ServerClock()

    @contextmanager
    def open(
        self, path: str, query: dict[str, str], *, accept: str = JSON, read_s: float = _READ_S
    ) -> Generator[Answer]:
        """The answer to a GET while its body is read. Raises Trouble for any that is not JSON and not good."""
        import urllib3

        headers = {"Accept": accept}
        if "watch" not in query:
            headers["Accept-Encoding"] = "gzip"
        answer: Answer | None = None
        try:
            request = self._client.param_serialize(
                "GET",
                path,
                query_params=list(query.items()),
                header_params=headers,
                auth_settings=["BearerToken"],
            )
            sent_ms = self._wall()
            got = self._client.call_api(*request, _request_timeout=(_CONNECT_S, read_s))
            answer = cast(Answer, got.response)
            self.clock.observe(sent_ms, self._wall(), str(answer.headers.get("Date", "")))
            _check(answer)
            yield answer
        except urllib3.exceptions.ReadTimeoutError as error:
            raise Trouble(SILENT, f"nothing was heard for {read_s:.0f} s") from error
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise Trouble(AWAY, f"{type(error).__name__}: {str(error)[:200]}") from error
        except Exception as error:
            if type(error).__module__.startswith("kubernetes."):
                raise Trouble(AWAY, f"{type(error).__name__}: {str(error)[:200]}") from error
            raise
        finally:
            if answer is not None:
                answer.close()

    def get(self, path: str, query: dict[str, str] | None = None, *, accept: str = JSON) -> Json:
        """A whole answer. Raises Trouble."""
        with self.open(path, query or {}, accept=accept) as answer:
            body = answer.read(_LARGEST_MIB * 1024 * 1024, True)
            return mapping(orjson.loads(body))

    def close(self) -> None:
        """Give up its connections: streams under way end."""
        self._client.rest_client.pool_manager.clear()


def _check(answer: Answer) -> None:
    if answer.status != 200:
        raise _trouble(answer)
    kind = str(answer.headers.get("Content-Type", ""))
    if not kind.startswith(JSON):
        raise Trouble(AWAY, f"it answered with {kind or 'no type'}: is there a proxy in between?")


def _trouble(answer: Answer) -> Trouble:
    body = answer.read(64 * 1024, True)
    try:
        status = mapping(orjson.loads(body))
    except ValueError:
        status = {}
    said = text(status.get("message"), 300) or " ".join(body[:100].decode(errors="replace").split())
    wait = str(answer.headers.get("Retry-After", ""))
    after = min(float(wait), _LONGEST_PAUSE_S) if wait.isdigit() else None
    return Trouble(_KINDS.get(answer.status, AWAY), f"{answer.status}: {said}", after)


def connect(part: KubernetesPart, cluster: str, connections: int) -> Api:
    """The API server that the configuration names. Raises ConfigurationError where it names none that can be used."""
    return Api(client_of(part, cluster, connections))


def client_of(part: KubernetesPart, cluster: str, connections: int) -> Client:
    """The official client for it, which asks nothing twice by itself. Raises ConfigurationError, as `connect`."""
    from kubernetes.client.api_client import ApiClient
    from kubernetes.client.configuration import Configuration
    from kubernetes.config import load_incluster_config, load_kube_config
    from kubernetes.config.config_exception import ConfigException

    settings = Configuration()
    where = f"clusters: {cluster}: kubernetes"
    try:
        if part.in_cluster:
            load_incluster_config(client_configuration=settings)
        else:
            file = str(part.kubeconfig) if part.kubeconfig else None
            load_kube_config(
                config_file=file, context=part.context, client_configuration=settings, persist_config=False
            )
    except (ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(
            f"{where}: {str(error)[:300] or type(error).__name__}",
            "name a kubeconfig and a context of it, or in_cluster: true inside a pod",
        ) from error
    knobs = cast(Any, settings)
    knobs.connection_pool_maxsize = connections
    knobs.retries = False
    return cast(Client, ApiClient(settings))
