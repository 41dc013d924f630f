"""Letters: who is told by which channel now, and why somebody is not yet. Pure.

A stage of a spell of idleness is told once: as soon as one letter of it was accepted, no other is written. What was not
accepted is written again after a pause, and no channel carries more in an hour than it may.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from enforcer.ladder.message import Message, message
from enforcer.ladder.rung import Rung
from quartermaster.clock import HOUR_MS
from quartermaster.config.notify import ChannelPart, NotifyPart
from quartermaster.config.policy import PolicyPart

OWNER, TEAM = "owner", "team"
_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_LONGEST_ADDRESS = 254


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a workload is, as the ledger knows it. The contact is shown nowhere."""

    workload_id: int | None = None
    person_id: int | None = None
    contact: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Letter:
    """A warning for one addressee (`owner` or `team`) by one channel. `to` is an owner's address."""

    cluster: str
    uid: str
    stage: str
    channel: str
    addressee: str
    message: Message
    workload_id: int | None = None
    person_id: int | None = None
    to: str = field(default="", repr=False)

    @property
    def key(self) -> tuple[str, ...]:
        """What two letters that say the same to the same have in common."""
        return self.cluster, self.uid, self.stage, self.channel, self.addressee


@dataclass(frozen=True, slots=True)
class Sent:
    """A letter that was sent at `at_ms`, and whether it was accepted."""

    key: tuple[str, ...]
    at_ms: int
    accepted: bool

    @property
    def channel(self) -> str:
        """By which channel."""
        return self.key[3]


@dataclass(frozen=True, slots=True)
class Held:
    """That somebody is not told now, and why."""

    uid: str
    words: str


@dataclass(frozen=True, slots=True)
class Post:
    """What is to be sent now, and what is not."""

    letters: tuple[Letter, ...]
    held: tuple[Held, ...]


@dataclass
class _Desk:
    """Where letters are written, one after the other, within each channel's hour."""

    notify: NotifyPart
    at_ms: int
    last: Mapping[tuple[str, ...], Sent]
    carried: dict[str, int]

    def why_not(self, letter: Letter, channel: ChannelPart) -> str:
        """Why the letter waits; "" where it does not, and then it is counted."""
        last = self.last.get(letter.key)
        if last is not None and self.at_ms < last.at_ms + self.notify.retry_ms:
            return f"{channel.name} did not take it; it is tried again after {self.notify.retry_ms // 1000} s"
        count = self.carried.get(channel.name, 0)
        if count >= channel.an_hour:
            return f"{channel.name} has carried {count} messages within an hour, and may carry no more"
        self.carried[channel.name] = count + 1
        return ""


def write(
    wanted: Iterable[Rung],
    notify: NotifyPart,
    owners: Mapping[str, Owner],
    sent: Sequence[Sent],
    *,
    policy: PolicyPart,
    zone: ZoneInfo,
    at_ms: int,
) -> Post:
    """The letters of these rungs. `owners` are by UID; `sent` is what every channel carried in the last hour, of all
    clusters, and what was not accepted since a retry ago."""
    last: dict[tuple[str, ...], Sent] = {}
    for each in sorted(sent, key=_when):
        last[each.key] = each
    carried: dict[str, int] = {}
    for each in sent:
        if at_ms - HOUR_MS < each.at_ms:
            carried[each.channel] = carried.get(each.channel, 0) + 1
    desk = _Desk(notify, at_ms, last, carried)
    letters: list[Letter] = []
    held: list[Held] = []
    for rung in wanted:
        uid = rung.workload.uid
        if _is_told(rung):
            continue
        drafts = _drafts(rung, notify, owners.get(uid, Owner()), message(rung, policy, zone, at_ms))
        if not drafts:
            words = f"no channel leads to team {rung.workload.team}, nor to the owner"
            held.append(Held(uid, words))
        for letter, channel in drafts:
            reason = desk.why_not(letter, channel)
            if reason:
                held.append(Held(uid, reason))
            else:
                letters.append(letter)
    return Post(tuple(letters), tuple(held))


def _is_told(rung: Rung) -> bool:
    return any(each.stage == rung.stage and each.at_ms > rung.found.since_ms for each in rung.found.notices)


def _drafts(
    rung: Rung, notify: NotifyPart, owner: Owner, text: Message
) -> Sequence[tuple[Letter, ChannelPart]]:
    common = (rung.cluster, rung.workload.uid, rung.stage)
    ids = {"workload_id": owner.workload_id, "person_id": owner.person_id}
    drafts = [
        (Letter(*common, channel.name, TEAM, text, owner.workload_id), channel)
        for channel in notify.channels_of(rung.workload.team)
    ]
    channel = notify.channel(notify.owners)
    if channel is not None and is_address(owner.contact):
        drafts.append((Letter(*common, channel.name, OWNER, text, **ids, to=owner.contact), channel))
    return drafts


def is_address(contact: str) -> bool:
    """Whether a contact is one plain mail address, and nothing that could become a second one or a header."""
    return len(contact) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(contact) is not None


def _when(sent: Sent) -> int:
    return sent.at_ms
