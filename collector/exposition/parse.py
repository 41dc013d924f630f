"""The parser of one target's pages: it remembers the last page, so that a page whose values alone changed costs little.

    parser = Parser()                                  # one a target; not shared between threads
    page = parser.parse(body)                          # bytes of a response → Page; never raises for what is in them
    page = parser.parse(body, openmetrics=True)        # where the Content-Type is application/openmetrics-text
"""

from collector.exposition.page import Page


class Parser:
    """Reads the pages of one target."""

    def parse(self, page: bytes, *, openmetrics: bool = False) -> Page:
        """The page's samples. One bad line costs that line: it is in `bad_lines`, the others are read."""
        raise NotImplementedError
