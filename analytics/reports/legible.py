"""Names made fit to be read: what a stranger called something, short enough for a line, with nothing that hides."""

from quartermaster.text import visible

LONGEST = 120  # of a name; what is longer is cut in its middle
_SENTENCE = 600


def name(text: str, most: int = LONGEST) -> str:
    """The name on one line; of a longer one its beginning and its end."""
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}…{text[-(most // 3) :]}"
    return visible(text)


def sentence(text: str) -> str:
    """A sentence with names in it, cut where it would fill a page. Hard spaces stay."""
    short = text if len(text) <= _SENTENCE else f"{text[:_SENTENCE]}…"
    return "\u00a0".join(map(visible, short.split("\u00a0")))
