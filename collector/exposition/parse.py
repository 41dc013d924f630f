"""The parser of one target's pages: it remembers the last one, so that a page with new values costs little.

    parser = Parser()                            # one a target; not shared between threads
    page = parser.parse(body)                    # a response's bytes → Page; never raises for what is in them
    page = parser.parse(body, openmetrics=True)  # where the Content-Type is application/openmetrics-text

Three ways, one answer: the template of the last page (compare what stands outside the values, read those);
where that fails, the last page's heads line by line; and the grammar for every line that is new.
"""

from collections.abc import Container, Mapping

import numpy as np

from collector.exposition.lines import read_lines
from collector.exposition.page import NO_TIMESTAMP, Layout, Line, Page
from collector.exposition.template import Template, template_of


class Parser:
    """Reads the pages of one target."""

    def __init__(self) -> None:
        self._openmetrics = False
        self._layout = Layout(())
        self._heads: Mapping[bytes, Line] = {}
        self._comments: Container[bytes] = frozenset()
        self._template: Template | None = None

    def parse(self, page: bytes, *, openmetrics: bool = False) -> Page:
        """The page's samples. One bad line costs that line: it is in `bad_lines`, the others are read."""
        if openmetrics != self._openmetrics:
            self._openmetrics, self._template, self._heads, self._comments = (
                openmetrics,
                None,
                {},
                frozenset(),
            )
        values = None if self._template is None else self._template.values(page)
        if self._template is None or values is None:
            return self._read(page)
        bad = self._template.bad
        return Page(self._layout, values, None, bad.kept, bad.count, complete=True)

    def _read(self, page: bytes) -> Page:
        """The page line by line; what it taught is kept for the next one."""
        lines = read_lines(page, self._heads, self._comments, openmetrics=self._openmetrics)
        complete = not lines.cut_off and (lines.ended or not self._openmetrics)
        layout = tuple(found.line for found in lines.found)
        if self._layout.lines != layout:
            self._layout = Layout(layout)
        self._heads = {found.key: found.line for found in lines.found if found.key}
        self._comments = lines.comments
        self._template = template_of(page, lines) if complete else None
        timed = any(found.stamp != NO_TIMESTAMP for found in lines.found)
        stamps = np.array([found.stamp for found in lines.found], np.int64) if timed else None
        values = np.array([found.value for found in lines.found], np.float64)
        return Page(self._layout, values, stamps, lines.bad.kept, lines.bad.count, complete)
