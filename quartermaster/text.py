"""Strangers' text made fit to be shown: nothing in it moves a cursor, rings, hides, or turns what follows."""

import re

_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # what PostgreSQL or UTF-8 cannot hold
# What a spreadsheet takes for the beginning of a formula, or of a command, after any spaces.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def visible(text: str) -> str:
    """The text on one line, with a sign that shows in place of whatever would not; a hard space is a space."""
    if text.isprintable():
        return text
    spaced = text.replace("\u00a0", " ")
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in spaced)


def visible_lines(text: str) -> str:
    """The same of a text of several lines, which stay, as tabs do."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def inert(text: str) -> str:
    """The text as a spreadsheet never computes it: an apostrophe before what it would take for a formula."""
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text


def storable(text: str, longest: int | None = None) -> str:
    """The text as every catalog can hold it: unfit signs replaced, cut to so many characters."""
    return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", str(text))[:longest]
