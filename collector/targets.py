"""Targets: which pages to fetch, as values; from the configuration, from file_sd's text, from SRV answers."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from quartermaster.config.clusters import TargetPart
from quartermaster.config.units import is_web_address
from quartermaster.errors import InputError
from quartermaster.ids import content_id

DEFAULT_PATH = "/metrics"
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s\[\]/:@?#\x00-\x1f\x7f]+)(:\d{1,5})?")


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One exporter's page. `node` is what it speaks of where its own labels do not say so, or empty."""

    cluster: str
    url: str
    node: str = ""

    @property
    def name(self) -> str:
        """The page's address as logs and the ledger show it: without a query, which may hold a secret."""
        return self.url.partition("?")[0]

    @property
    def target_id(self) -> int:
        """The key of the table `targets`."""
        return content_id("target", self.cluster, self.name)


def from_configuration(cluster: str, parts: Iterable[TargetPart]) -> tuple[Target, ...]:
    """The targets that the configuration names."""
    return tuple(Target(cluster, part.url, part.node or "") for part in parts)


def from_file_sd(cluster: str, text: str, file: str) -> tuple[Target, ...]:
    """The targets of a Prometheus file_sd file: a list of `{targets: [host:port …], labels: {…}}`.

    JSON or YAML by the file's name. Of the labels, `__scheme__`, `__metrics_path__` and `node` are heeded.
    Raises InputError that names the file and the group.
    """
    groups = _document(text, file)
    if not isinstance(groups, Sequence) or isinstance(groups, str):
        raise InputError(f"{file}: a list of groups was expected", _HINT)
    return tuple(
        target
        for position, group in enumerate(cast(Sequence[object], groups))
        for target in _group(cluster, group, f"{file}: group {position}")
    )


def from_srv(cluster: str, answers: Iterable[tuple[str, int]]) -> tuple[Target, ...]:
    """The targets of a DNS SRV answer: host and port of each, over plain HTTP at /metrics."""
    return tuple(Target(cluster, f"http://{host.rstrip('.')}:{port}{DEFAULT_PATH}") for host, port in answers)


def unique(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Each page once, in order; one that is named with its node wins over the same without."""
    found: dict[tuple[str, str], Target] = {}
    for target in targets:
        key = (target.cluster, target.url)
        if key not in found or (target.node and not found[key].node):
            found[key] = target
    return tuple(sorted(found.values()))


_HINT = 'it looks like [{"targets": ["node-1:9400"], "labels": {"node": "node-1"}}]'


def _document(text: str, file: str) -> object:
    try:
        if file.endswith(".json"):
            return json.loads(text)
        return cast(Any, YAML(typ="safe", pure=True)).load(text)
    except (ValueError, RecursionError, YAMLError) as error:
        what = " ".join(str(error).split())
        raise InputError(
            f"{file}: this is no {'JSON' if file.endswith('.json') else 'YAML'}: {what}", _HINT
        ) from error


def _group(cluster: str, group: object, where: str) -> Iterable[Target]:
    if not isinstance(group, Mapping):
        raise InputError(f"{where} is no mapping", _HINT)
    entries = cast(Mapping[str, object], group)
    addresses, labels = entries.get("targets"), cast(object, entries.get("labels") or {})
    if not isinstance(addresses, Sequence) or isinstance(addresses, str) or not isinstance(labels, Mapping):
        raise InputError(f"{where} has no list of targets, or labels that are no mapping", _HINT)
    named = {str(key): str(value) for key, value in cast(Mapping[object, object], labels).items()}
    scheme, path = named.get("__scheme__", "http"), named.get("__metrics_path__", DEFAULT_PATH)
    if (
        scheme not in {"http", "https"}
        or not path.startswith("/")
        or any(ord(character) <= 32 for character in path)
    ):
        raise InputError(f"{where}: {scheme}://…{path} is no address of a page", _HINT)
    for address in cast(Sequence[object], addresses):
        match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
        url = f"{scheme}://{address}{path}"
        if match is None or not is_web_address(url):
            raise InputError(f"{where}: {address!r} is no host:port", _HINT)
        yield Target(cluster, url, named.get("node", ""))
