"""What every page stands in: its look, its masthead with filters, its cards, and what is said in place of figures.

A page gives `page` a function of a `Visit`; the rest of this module are the pieces that it puts together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analytics.reports import html
from analytics.reports.figures import Report
from analytics.reports.forms import Form, file_name
from analytics.reports.summary import Card, LegendRow
from analytics.reports.tables import Table
from analytics.reports.theme import Tone
from dashboards import access, data
from quartermaster.errors import QuartermasterError

if TYPE_CHECKING:
    import altair as alt

# A menu's links need air for a finger; on a telephone the title has a line of its own and filters share the next.
_STYLE = """<style>
[data-testid=stSidebarNavLink] { padding-block: 5px; }
.qm > .legend { margin-top: -4px; }
@media (max-width: 640px) {
  .st-key-masthead > :first-child { flex: 1 1 100% !important; min-width: 100%; }
  [data-testid=stMainBlockContainer] { padding-inline: 16px; padding-top: 56px; }
}
</style>"""

_MIME = {
    Form.HTML: "text/html",
    Form.PDF: "application/pdf",
    Form.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Form.CSV: "text/csv",
    Form.JSON: "application/json",
}
NOTHING_YET = (
    "No finished hour yet",
    "The ledger is there, and nothing in it is rolled up. The first figures come when all sources have "
    "passed an hour.",
    "run quartermaster rollup; quartermaster status shows how far each source is",
)


@dataclass(frozen=True)
class Visit:
    """One run of a page: the ledger it looks at, who looks, and in which tone."""

    where: access.Place
    viewer: access.Viewer
    tone: Tone


@dataclass(frozen=True)
class Masthead:
    """The head of a page: a place for its title, which is known last, and one for its filters, asked first."""

    title: DeltaGenerator
    filters: DeltaGenerator

    def say(self, title: str, *facts: str, badge: str = "", provisional: bool = False) -> None:
        """The title, and below it what every number of the page stands on: the period, until when, the unit."""
        self.title.html(html.heading(title, facts, badge, provisional=provisional))


def page(body: Callable[[Visit], None]) -> None:
    """A page in the house's look. What went wrong is said in its place, with the next step."""
    tone: Tone = "dark" if st.context.theme.type == "dark" else "light"
    st.html(html.style(tone) + _STYLE)
    try:
        body(Visit(access.place(), access.viewer(), tone))
    except QuartermasterError as error:
        notice("There is nothing to show", error.what, error.hint)


def masthead() -> Masthead:
    """The head of a page, to be filled: `with head.filters: …`, then `head.say(…)`."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="masthead")
    return Masthead(row.container(width="stretch"), row)


def week(weeks: data.Weeks) -> str:
    """The filter of the week; it begins with the last whole one."""
    return st.selectbox("Week", weeks.all, index=weeks.first, key="week", bind="query-params", width=150)


def team(teams: Sequence[str], *, everyone: str | None = "All teams") -> str | None:
    """The filter of the team, None for all; without `everyone` it begins with the first, and one must be chosen."""
    return st.selectbox(
        "Team",
        teams,
        index=0 if teams and everyone is None else None,
        key="team",
        bind="query-params",
        placeholder=everyone or "No team",
        width=190,
    )


def download(label: str, content: Callable[[], str | bytes], name: str, mime: str, why: str) -> None:
    """A button for a file that is made when it is pressed."""
    st.download_button(
        label,
        data=content,
        file_name=name,
        mime=mime,
        on_click="ignore",
        icon=":material/download:",
        help=why,
    )


def export(tables: Mapping[str, Table], name: str, content: Callable[[Table], str]) -> None:
    """A menu of the page's tables as CSV files; a file is made when it is asked for."""
    with st.popover("Export", icon=":material/download:"):
        for title, rows in tables.items():
            st.download_button(
                f"{title} (CSV)",
                data=lambda rows=rows: content(rows),
                file_name=f"{name}-{rows.key}.csv",
                mime="text/csv",
                on_click="ignore",
                key=f"export-{rows.key}",
                type="tertiary",
            )


def statement(report: Report, content: Callable[[Report, Form], bytes]) -> None:
    """A menu of the report's forms as files; a file is made when it is asked for."""
    with st.popover("Statement", icon=":material/download:"):
        for form in Form:
            st.download_button(
                form.value.upper(),
                data=lambda form=form: content(report, form),
                file_name=file_name(report, form),
                mime=_MIME[form],
                on_click="ignore",
                key=f"statement-{form.value}",
                type="tertiary",
            )


def card(title: str, key: str, note: str = "") -> DeltaGenerator:
    """A framed part of the page: `with card(…): …`. The note says the unit and the period where they differ."""
    framed = st.container(border=True, key=f"card-{key}", height="stretch", gap="xsmall")
    framed.header(title, anchor=False)
    if note:
        framed.html(html.note(note))
    return framed


def cards(figures: Sequence[Card], footnote: str = "") -> None:
    """A row of figures; below it what they rest on."""
    st.html(html.cards(figures, footnote))


def table(rows: Table) -> None:
    """A table; on a telephone each row is a block. Without rows its own words say so."""
    st.html(html.table(rows))


def sentences(told: Sequence[str]) -> None:
    """Sentences, one below the other."""
    st.html(html.sentences(told))


def legend(rows: Sequence[LegendRow]) -> None:
    """A chart's legend, which wraps and can be read aloud."""
    st.html(html.legend(rows))


def chart(drawing: "alt.LayerChart", words: str) -> None:
    """A chart of the house, with what it shows in words for who cannot see it."""
    st.altair_chart(drawing, theme=None, alt=words)


def notice(title: str, text: str, step: str = "") -> None:
    """In place of figures: why there are none, and the next step."""
    st.html(html.notice(title, text, step))
