"""What a page writes: what a person asks, asked again and answered by the enforcer; and that names were read."""

from collections.abc import Callable, Mapping

import streamlit as st

from analytics.asking.request import Request
from analytics.asking.wish import Asker, Wish, wish
from analytics.reports import html
from analytics.reports.tables import Table
from analytics.views.named import named
from dashboards import access
from dashboards.frame import Visit
from quartermaster.clock import now_ms
from quartermaster.config.model import Configuration
from quartermaster.errors import QuartermasterError
from quartermaster.person import person_id, pseudonym, pseudonym_key
from sql.ledger import open_ledger


def asker(visit: Visit) -> Asker:
    """Who looks, as requests keep them: a pseudonym. Raises ConfigurationError where its key cannot be used."""
    return _asker(access.configuration(), visit)


def person(visit: Visit) -> int:
    """The person's number in the ledger, by which their workloads are known. Raises as `asker`."""
    configuration = access.configuration()
    return person_id(pseudonym_key(configuration.privacy.key, configuration.ledger.path), visit.viewer.name)


def may_see_names(visit: Visit, team: str) -> bool:
    """Whether the ledger keeps names at all, and who looks answers for the team. Raises ConfigurationError."""
    return not access.configuration().privacy.pseudonyms and visit.viewer.owned.admits(team)


def names(visit: Visit, team: str, persons: Mapping[tuple[str, int], int]) -> Table:
    """Names behind a team's pseudonyms; that they were read is recorded first. Raises InputError, LedgerError."""
    configuration = access.configuration()
    place, reader = configuration.ledger, _asker(configuration, visit).pseudonym
    with open_ledger(place.path, place.catalog.reveal(), make=False) as ledger:
        return named(ledger, visit.viewer.owned, team, persons, reader, now_ms=now_ms())


def write(visit: Visit, wished: Wish) -> Request:
    """Write the request. Raises InputError where it is not allowed or would change nothing, LedgerError."""
    configuration = access.configuration()
    place = configuration.ledger
    clusters = [cluster.name for cluster in configuration.clusters]
    with open_ledger(place.path, place.catalog.reveal(), make=False) as ledger:
        return wish(
            ledger,
            _asker(configuration, visit),
            wished,
            clusters=clusters,
            policy=configuration.policy,
            now_ms=now_ms(),
        )


def confirm(visit: Visit, wished: Wish, words: str, forget: Callable[[], object]) -> None:
    """Ask again, then write. `words` say what will happen; `forget` lets go of what the page has kept."""

    @st.dialog("Are you sure?")
    def asked() -> None:
        st.text(words)
        reason = st.text_input("Why", max_chars=300, placeholder="for who reads the record")
        if st.button("Yes, ask for it", type="primary"):
            try:
                write(visit, Wish(wished.cluster, wished.kind, wished.subject, wished.span_ms, reason))
            except QuartermasterError as error:
                st.html(html.notice("It was not asked", error.what, error.hint))
                return
            forget()
            st.rerun()

    asked()


def _asker(configuration: Configuration, visit: Visit) -> Asker:
    key = pseudonym_key(configuration.privacy.key, configuration.ledger.path)
    return visit.viewer.asker(pseudonym(person_id(key, visit.viewer.name)))
