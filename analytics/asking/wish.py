"""A wish: what somebody in front of a page asks for, allowed by role and scope, written down as a request."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from analytics.asking.approving import check, find
from analytics.asking.request import Kind, Request, ask, rows
from analytics.scope import Scope
from quartermaster.clock import MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.errors import InputError
from quartermaster.person import pseudonym_of
from quartermaster.role import Role
from sql.ledger import Ledger

_LISTED = "reload the page: it shows what there is now"
_ROLES = {
    Kind.APPROVE: Role.ADMIN,
    Kind.FREEZE: Role.ADMIN,
    Kind.THAW: Role.ADMIN,
    Kind.RESTORE: Role.ADMIN,
    Kind.KEEP: Role.OWNER,
    Kind.GIVE_BACK: Role.OWNER,
}
_THEIRS = frozenset({Kind.KEEP, Kind.GIVE_BACK})  # what people may do with a workload of their own, too


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: a pseudonym, what they may do, and whose workloads are theirs to decide on."""

    pseudonym: str
    roles: frozenset[Role]
    scope: Scope

    def may(self, kind: Kind) -> bool:
        """Whether a role lets them ask for it, within their scope."""
        return kind in _ROLES and not self.roles.isdisjoint({_ROLES[kind], Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a cluster. `subject`: a plan's whole hash, or a workload as Kind/namespace/name or its UID."""

    cluster: str
    kind: Kind
    subject: str = ""
    span_ms: int | None = None  # of keep: for how long from now on
    words: str = ""


def wish(
    ledger: Ledger,
    asker: Asker,
    wished: Wish,
    *,
    clusters: Iterable[str],
    policy: PolicyPart,
    now_ms: int,
) -> Request:
    """Write the request and give it. A workload's subject becomes its UID.

    A freeze and a thaw come after every earlier one, whatever a clock says. What is kept is bounded by the enforcer, as
    by `keep_at_most` of the policy.

    Raises LedgerError; InputError where the role does not allow it, for a cluster, plan or workload that there is not
    (in the same words for a workload that is not theirs), and for what would change nothing.
    """
    if wished.cluster not in clusters:
        raise InputError(f"there is no cluster {wished.cluster!r}", _LISTED)
    if not (asker.may(wished.kind) or wished.kind in _THEIRS):
        raise InputError(
            f"your role does not let you ask to {wished.kind.value}", "ask somebody who administers it"
        )
    request = _request(ledger, asker, wished, policy, now_ms)
    ask(ledger, request)
    return request


def _request(ledger: Ledger, asker: Asker, wished: Wish, policy: PolicyPart, now_ms: int) -> Request:
    match wished.kind:
        case Kind.APPROVE:
            return _approval(ledger, asker, wished, policy, now_ms)
        case Kind.FREEZE | Kind.THAW:
            with ledger.reading() as cursor:
                last_ms = rows(cursor, "last_command", {"cluster": wished.cluster})["at_ms"][0]
            at_ms = now_ms if last_ms is None else max(now_ms, last_ms + 1)
            return Request(wished.cluster, at_ms, asker.pseudonym, wished.kind, words=wished.words)
        case Kind.KEEP:
            if wished.span_ms is None or wished.span_ms < MINUTE_MS:
                raise InputError("nobody can tell for how long it is to be kept", "choose a span")
            uid, until_ms = _own(ledger, asker, wished, now_ms), now_ms + wished.span_ms
            return Request(wished.cluster, now_ms, asker.pseudonym, Kind.KEEP, uid, until_ms, wished.words)
        case Kind.GIVE_BACK:
            uid = _own(ledger, asker, wished, now_ms)
            return Request(wished.cluster, now_ms, asker.pseudonym, Kind.GIVE_BACK, uid, words=wished.words)
        case Kind.RESTORE:
            _must_be_stopped(ledger, wished)
            return Request(
                wished.cluster, now_ms, asker.pseudonym, Kind.RESTORE, wished.subject, words=wished.words
            )
        case Kind.BOOK | Kind.OFFER | Kind.CANCEL:
            raise AssertionError("no role may, so nobody comes here")


def _approval(ledger: Ledger, asker: Asker, wished: Wish, policy: PolicyPart, now_ms: int) -> Request:
    """The plan must be told by its whole hash, as the page showed it, and still be the one that is in force."""
    with ledger.reading() as cursor:
        plan = find(cursor, wished.subject, wished.cluster)
    if plan.plan_hash != wished.subject:
        raise InputError("a plan is approved by its whole hash", _LISTED)
    check(plan, policy.acting, now_ms)
    until_ms = now_ms + policy.acting.approval_lasts_ms
    return Request(
        wished.cluster, now_ms, asker.pseudonym, Kind.APPROVE, plan.plan_hash, until_ms, wished.words
    )


def _own(ledger: Ledger, asker: Asker, wished: Wish, now_ms: int) -> str:
    """The UID of a workload that is the asker's own, or of a team that they answer for."""
    given = {"cluster": wished.cluster, "subject": wished.subject, "at_ms": now_ms}
    with ledger.reading() as cursor:
        found = rows(cursor, "mine", given).to_dicts()
    person = pseudonym_of(asker.pseudonym)
    answers_for = asker.may(wished.kind)
    own = [
        each["uid"]
        for each in found
        if (person is not None and each["person_id"] == person)
        or (
            answers_for
            and (asker.scope.whole or (each["team"] is not None and asker.scope.admits(each["team"])))
        )
    ]
    if len(own) != 1:
        raise InputError(f"there is no workload {wished.subject!r} of yours that holds GPUs now", _LISTED)
    return own[0]


def _must_be_stopped(ledger: Ledger, wished: Wish) -> None:
    given = {"cluster": wished.cluster, "from_ms": 0}
    with ledger.reading() as cursor:
        found = rows(cursor, "audit_stopped", given, folder="enforce")
    titles = pl.concat_str("kind", "namespace", "name", separator="/", ignore_nulls=False)
    if found.filter((titles == wished.subject) | (pl.col("object_uid") == wished.subject)).is_empty():
        raise InputError(f"{wished.subject!r} is not stopped by Quartermaster", _LISTED)
