"""What stands in the lists that a cluster's streams bring, so that it is known what is not there any more."""

from collector.kubernetes.stream import GONE, Event

_Of = tuple[str, str]  # what a list is of: the resource, and the namespace ("" for all of them)


class Listed:
    """The keys of what is there, list by list."""

    def __init__(self) -> None:
        self._there: dict[_Of, set[str]] = {}
        self._listing: dict[_Of, set[str]] = {}

    def has(self, kind: str) -> bool:
        """Whether there is a list of such a resource, though it may be empty."""
        return any(each == kind for each, _ in self._there)

    def begin(self, event: Event) -> None:
        """A full list begins."""
        self._listing[event.kind, event.within] = set()

    def note(self, event: Event, key: str) -> None:
        """Something came, changed or went."""
        of = event.kind, event.within
        if event.type == GONE:
            self._there.get(of, set()).discard(key)
        else:
            self._there.setdefault(of, set()).add(key)
            self._listing.get(of, set()).add(key)

    def missing(self, event: Event) -> list[str]:
        """A full list ended: what was there and does not stand in it, which is gone."""
        of = event.kind, event.within
        there = self._there.setdefault(of, set())
        gone = sorted(there - self._listing.pop(of, set()))
        there.difference_update(gone)
        return gone
