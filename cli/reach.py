"""A cluster within reach of a command: its API server, its audit, and the person who acts."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from cli.asking import asker
from cli.choice import clusters
from cli.session import session
from quartermaster.errors import InputError, SourceError

if TYPE_CHECKING:
    from enforcer.act.doing import Doing
    from enforcer.act.restore import Restored
    from enforcer.act.wire import Wire
    from enforcer.audit.chain import Chain
    from enforcer.audit.deed import Deed
    from quartermaster.config.model import Configuration


@dataclass(frozen=True)
class Reach:
    """One cluster, and what a person needs to put something back there."""

    configuration: "Configuration"
    cluster: str
    wire: "Wire"
    doing: "Doing"
    chain: "Chain"
    person: str  # a pseudonym

    def stopped(self) -> "tuple[Deed, ...]":
        """What the audit has of what is stopped."""
        return tuple(each.deed for each in self.chain.stopped())

    def recorded(self) -> dict[str, str]:
        """By UID what the audit has of what is stopped, as it was before."""
        return {each.object_uid: each.before for each in self.stopped()}

    def quotas_back(self, words: str, since_ms: int = 0) -> "tuple[Restored, tuple[str, ...]]":
        """Put back the quotas that were moved since then; and what could not be looked through."""
        from collector.kubernetes.configured import settings_of
        from enforcer.act.restore import Asked, Restored
        from enforcer.quotas.last import lasts
        from enforcer.quotas.restore import restore_quotas

        (part,) = (each for each in self.configuration.clusters if each.name == self.cluster)
        with self.chain.ledger.reading() as cursor:
            known = lasts(cursor, self.cluster)
        if not known and part.kubernetes is not None and part.kubernetes.namespaces:
            return Restored((), {}), ()  # with rights in namespaces alone none is moved, or looked for
        asked = Asked(self.cluster, self.person, words)
        settings = settings_of(part, self.configuration)
        acting = self.configuration.policy.acting
        done, unseen = restore_quotas(
            self.doing, settings, asked, known, since_ms=since_ms, experimental=acting.experimental
        )
        # Who never moved any need not have the right to look for them.
        return done, unseen if known or acting.lend else ()


@contextmanager
def reach(context: typer.Context, wanted: str | None) -> Generator[Reach]:
    """The one cluster that is meant. Raises InputError where there are several; SourceError while it is away."""
    from enforcer.act.configured import doing_of, wire_of
    from enforcer.act.served import NoWay
    from enforcer.act.wire import Silence
    from enforcer.audit.chain import Chain
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    names = [
        each.name
        for each in configuration.clusters
        if each.kubernetes is not None and each.name in clusters(configuration, wanted)
    ]
    if not names:
        who = "no cluster has an" if wanted is None else f"cluster {wanted!r} has no"
        raise InputError(f"{who} API server in the configuration", "give it kubernetes: in clusters:")
    if len(names) > 1:
        raise InputError(f"which cluster is meant? There are: {', '.join(names)}", "name one with --cluster")
    wire = wire_of(configuration, names[0])
    with open_configured(configuration) as ledger:
        chain = Chain(ledger, names[0])
        doing = doing_of(configuration, names[0], wire, chain, lambda epoch: "")
        person = asker(configuration)
        try:
            yield Reach(configuration, names[0], wire, doing, chain, person)
        except Silence as silence:
            raise SourceError(
                f"the API server of {names[0]} does not answer: {silence}", "try again"
            ) from silence
        except NoWay as no_way:
            raise InputError(str(no_way), "quartermaster actions says what was stopped") from no_way
        finally:
            doing.close()
            wire.close()


def told(done: "Restored") -> list[dict[str, str]]:
    """What became of each, for a table or a machine."""
    from enforcer.audit.deed import Phase

    rows = [
        {"workload": _title(each), "result": each.result, "words": each.words}
        for each in done.deeds
        if each.phase is Phase.OUTCOME
    ]
    unknown = [each for each in done.deeds if each.phase is Phase.INTENT]
    closed = {each.intent for each in done.deeds if each.phase is Phase.OUTCOME}
    if len(closed) < len(unknown):
        known = {row["workload"] for row in rows}
        rows += [
            {"workload": title, "result": "not known", "words": "the API server did not answer"}
            for each in unknown
            if (title := _title(each)) not in known
        ]
    return rows + [
        {"workload": title, "result": "left", "words": words} for title, words in done.left.items()
    ]


def _title(deed: "Deed") -> str:
    return "/".join(each for each in (deed.kind, deed.namespace, deed.name) if each)
