"""Which tags and attributes a piece of HTML has: a hostile name may not add any."""

from html.parser import HTMLParser

from typing_extensions import override


class Tags(HTMLParser):
    """The names of all tags that a text opens, and of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
