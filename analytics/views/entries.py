"""A list of things with a reason each, as one piece of HTML: who waits and why, what a plan would do and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analytics.reports import legible

_ENTRY = Markup(
    '<li><div><h3><span class="name">{title}</span>{tags}</h3><p class="seen name">{seen}</p>{why}</div>'
    '<p class="cost"><b>{figure}</b><span>{note}</span></p></li>'
)
_TAG = Markup(' <span class="tag">{}</span>')
_WHY = Markup('<p class="do name">{}</p>')
_LIST = Markup('<div class="qm"><ol class="waste" aria-label="{}">{}</ol>{}</div>')
_MORE = Markup('<p class="footnote">{} more are not shown; choose a team or a pool to see fewer.</p>')
_EMPTY = Markup('<div class="qm"><p>{}</p></div>')


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing: what it is, tags, what was seen of it, the reasons, and its figure at the side with a note."""

    title: str
    tags: tuple[str, ...]
    seen: tuple[str, ...]
    why: tuple[str, ...]
    figure: str
    note: str


def listed(about: str, entries: Sequence[Entry], empty: str, most: int = 30) -> str:
    """The entries as a numbered list, at most so many; `empty` where there are none. Every name is escaped."""
    if not entries:
        return _EMPTY.format(empty)
    left = len(entries) - most
    more = _MORE.format(f"{left:,}") if left > 0 else ""
    return _LIST.format(about, _joined(map(_entry, entries[:most])), more)


def _entry(entry: Entry) -> Markup:
    return _ENTRY.format(
        title=legible.name(entry.title),
        tags=_joined(_TAG.format(legible.name(tag)) for tag in entry.tags),
        seen=" · ".join(map(legible.name, filter(None, entry.seen))),
        why=_joined(_WHY.format(legible.sentence(sentence)) for sentence in entry.why),
        figure=legible.name(entry.figure),
        note=legible.name(entry.note),
    )


def _joined(pieces: Iterable[Markup]) -> Markup:
    return Markup("").join(pieces)
