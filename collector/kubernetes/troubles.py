"""Which watches do not go on, as the log is told: once for each kind of trouble, and when it is over."""

from collections.abc import Iterable

from collector.kubernetes import talk
from collector.kubernetes.watch import Watcher
from collector.log import Log


class Troubles:
    """Of one cluster's watches. That a resource is not served is no trouble."""

    def __init__(self, log: Log, cluster: str) -> None:
        self._log, self._cluster = log, cluster
        self._said: dict[
            tuple[str, str], str
        ] = {}  # the kind of trouble, by the watch's own name and namespace

    def say(self, watchers: Iterable[Watcher], without: str = "") -> None:
        """Tell what is new. `without` is what is lost where a resource does not say it."""
        for each in watchers:
            trouble, key = each.state.trouble, (each.resource.kind, each.resource.namespace)
            if trouble is None:
                if self._said.pop(key, None) is not None:
                    self._log.info("watched again", cluster=self._cluster, resource=each.resource.title)
            elif trouble.kind not in {talk.ABSENT, self._said.get(key)}:
                self._said[key] = trouble.kind
                self._log.warning(
                    "not watched",
                    cluster=self._cluster,
                    resource=each.resource.title,
                    what=trouble.detail,
                    lost=each.resource.without or without,
                )
