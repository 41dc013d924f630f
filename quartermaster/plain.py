"""Strangers' names made plain for a message: nothing in them links, mentions, formats, hides or turns what follows."""

from unicodedata import bidirectional, normalize

_KEPT = frozenset("-_/ ")
_TURNED = {".": "·"}  # programs that show mail and chats make a link of whatever looks like a domain
_UNSEEN = frozenset("\u115f\u1160\u3164\uffa0")  # letters to Unicode, and nothing to the eye
_REST = "?"


def plain(text: str, at_most: int = 80) -> str:
    """The name in letters that run from left to right, digits, `-`, `_`, `/` and spaces; a dot is a middle dot.

    Each other sign is a question mark: `@`, `<`, `*`, `:` and their like mean something to one program or another. What
    is longer than `at_most` signs is cut.
    """
    signs = normalize("NFC", text[: 4 * at_most])
    told = " ".join("".join(map(_plain, signs)).split())
    return told if len(told) <= at_most else told[: at_most - 1] + "…"


def _plain(sign: str) -> str:
    if sign in _KEPT:
        return sign
    harmless = sign.isalnum() and bidirectional(sign) in {"L", "EN"} and sign not in _UNSEEN
    return sign if harmless else _TURNED.get(sign, _REST)
