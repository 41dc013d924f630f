"""SQL: questions that have a name, and a prompt for others; both in the room of `quartermaster sql`."""

import streamlit as st

from analytics.asking.question import (
    LIMITS,
    Answer,
    Door,
    Question,
    Words,
    answered,
    columns_of,
    csv_of,
    named,
    questions,
)
from analytics.reports import html
from dashboards import asking, frame
from dashboards.frame import Visit, card
from quartermaster.errors import QuartermasterError

_NAMED, _WORDS = "Named questions", "Your own SELECT"
_SCOPED = "Your teams' rows of the views in `reporting` are there, and no others."
_WHOLE = "All tables and views of the ledger are there, but for people's names."


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    head = frame.masthead()
    with head.filters:
        way = st.segmented_control(
            "Ask", (_NAMED, _WORDS), default=_NAMED, required=True, key="way", bind="query-params"
        )
    head.say(
        "SQL", f"at most {LIMITS.rows:,} rows, {LIMITS.seconds} s", "read only", "each question is noted"
    )
    st.html(html.note(_WHOLE if visit.viewer.scope.whole else _SCOPED))
    try:
        words = _named() if way == _NAMED else _own()
        if words is not None:
            place = visit.where
            door = Door(place.folder, place.catalog, visit.viewer.scope, asking.asker(visit).pseudonym)
            with st.spinner("Asking …"):
                answer = answered(door, words)
            _show(words, answer)
    except QuartermasterError as error:
        frame.notice("No answer", error.what, error.hint)


def _named() -> Words | None:
    known = {each.name: each for each in questions()}
    with card("Questions", "named"):
        name = st.selectbox("Question", tuple(known), key="question", bind="query-params", width=320)
        found = known[name]
        st.html(html.note(f"{found.about[:1].upper()}{found.about[1:]}."))
        with st.form("named", border=False):
            given = _parameters(found)
            asked = st.form_submit_button("Ask", type="primary", icon=":material/play_arrow:")
        with st.expander("Its SQL"):
            st.code(found.query, language="sql", wrap_lines=True)
    return named(name, given) if asked else None


def _parameters(found: Question) -> dict[str, str]:
    given: dict[str, str] = {}
    columns = st.columns(3)
    for place, parameter in enumerate(found.parameters):
        with columns[place % 3]:
            given[parameter.name] = st.text_input(
                f"{parameter.name}{' (needed)' if parameter.required else ''}",
                key=f"{found.name}-{parameter.name}",
                placeholder=parameter.default or parameter.about,
                help=f"{parameter.about} ({parameter.type})",
                max_chars=500,
            )
    return given


def _own() -> Words | None:
    with card("Your own SELECT", "own"), st.form("own", border=False):
        query = st.text_area(
            "Query",
            key="query",
            height=180,
            max_chars=20_000,
            placeholder="select day, sum(held_gpu_h) as held from reporting.usage_by_day group by day order by day",
        )
        asked = st.form_submit_button("Ask", type="primary", icon=":material/play_arrow:")
    return Words(query, {}) if asked else None


def _show(words: Words, answer: Answer) -> None:
    count = f"{len(answer.rows):,} row{'' if len(answer.rows) == 1 else 's'}"
    more = "; there are more: ask for less at once" if answer.more else ""
    with card("Answer", "answer", f"{count} in {answer.seconds:.1f} s{more}"):
        if answer.rows:
            st.dataframe(columns_of(answer), hide_index=True, alt=f"The answer, {count}")  # pyright: ignore[reportUnknownMemberType]
        name = f"{words.name or 'answer'}.csv"
        frame.download("CSV", lambda: csv_of(answer), name, "text/csv", "All rows of this answer")
