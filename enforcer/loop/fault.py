"""A fault of ours, in words: what nobody foresaw is told and the thread goes on, so that one object stops no loop."""

from quartermaster.text import visible

_LONGEST = 300


def in_words(error: Exception) -> str:
    """What was raised, and that it is to be reported; bounded, as it may quote strangers."""
    said = " ".join(str(error)[:_LONGEST].split())
    return visible(f"a fault of Quartermaster, please report it: {type(error).__name__}: {said}")
