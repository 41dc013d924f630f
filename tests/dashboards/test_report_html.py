"""The report as a file: whole in itself, escaped, in both tones, readable, saying what to do."""

import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from typing_extensions import override

from analytics.reports import html, summary, theme
from analytics.reports.figures import Report
from analytics.reports.html import render
from analytics.reports.theme import Tone


class Read(HTMLParser):
    """A document's tags with their attributes, its visible text, and whether its tags close in order."""

    VOID = frozenset({"meta", "link", "br", "img", "hr", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    @override
    def handle_endtag(self, tag: str) -> None:
        if self.open.pop() != tag:
            self.unclosed.append(tag)

    @override
    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def a_page(a_week: Report) -> str:
    return render(a_week)


@pytest.mark.parametrize("week", ["a_week", "a_hostile_week", "an_empty_week"])
def test_it_is_whole_in_itself(week: str, request: pytest.FixtureRequest) -> None:
    text = render(request.getfixturevalue(week))
    page = Read(text)
    assert not page.unclosed
    assert not page.open
    assert not page.named("script")
    assert not page.named("link")
    fetched = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in {"src", "href", "xlink:href", "action", "srcset", "poster"} or name.startswith("on")
    ]
    assert fetched == []
    assert all(address.startswith("data:") for address in re.findall(r"""url\(\s*["']?([^)"']+)""", text))
    policy = next(
        meta["content"] for meta in page.named("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert len(text) < 400_000


def test_names_are_escaped_everywhere(a_hostile_week: Report) -> None:
    text = render(a_hostile_week)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "{{7*7}}" in text
    page = Read(text)
    assert "vision<script>alert(1)</script>[bold]x[/bold]=cmd()|{{7*7}}`" in page.text


def test_it_has_both_tones_and_its_drawings_follow_them(a_page: str) -> None:
    tones: tuple[Tone, ...] = ("light", "dark")
    for tone in tones:
        assert theme.css_variables(tone) in a_page
    assert "prefers-color-scheme: dark" in a_page
    drawn = "".join(re.findall(r"<svg.*?</svg>", a_page, re.DOTALL))
    assert drawn.count("var(--computing,") > 0
    assert not set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,8})"', drawn))


def test_it_is_readable_without_seeing_it(a_page: str) -> None:
    page = Read(a_page)
    assert page.named("html")[0]["lang"] == "en"
    assert len(page.named("h1")) == 1
    images = [attributes for _, attributes in page.tags if attributes.get("role") == "img"]
    assert len(images) == 6
    assert all(len(image["aria-label"]) > 20 for image in images)
    assert len(page.named("caption")) == len(page.named("table")) == 4
    assert all(head.get("scope") in {"col", "row"} for head in page.named("th"))


def test_the_first_screen_says_what_it_cost_what_was_wasted_and_what_to_do(
    a_week: Report, a_page: str
) -> None:
    before_figures = a_page[a_page.index('class="lead"') : a_page.index('class="cards ')].replace(
        "\u00a0", " "
    )
    assert "The fleet cost 66,662 EUR" in before_figures
    assert "9,976 EUR of it (15.0 %) stood idle while held" in before_figures
    assert "Begin with Job speech-train/conformer-xl-1124 of team speech: look at its log" in before_figures
    for card in summary.cards(a_week):
        assert card.value in a_page


def test_every_figure_of_the_week_is_there(a_week: Report, a_page: str) -> None:
    page = Read(a_page).text
    for row in a_week.by_team:
        assert f"{row.cost:,.2f}" in page
    for row in a_week.idlest:
        assert row.advice in page
        assert row.workload.name in page
    for note in a_week.notes:
        assert note in page
    for state in theme.STATES:
        assert state.label in page


def test_without_prices_time_is_shown_and_no_cost(a_week: Report) -> None:
    page = Read(render(replace(a_week, currency=""))).text
    assert "EUR" not in page
    assert "The fleet had 21,504 GPU-hours; 3,218 of them" in page.replace("\u00a0", " ")


def test_a_week_without_anybody_says_so(an_empty_week: Report) -> None:
    page = Read(render(an_empty_week)).text
    assert "No team held a GPU in this week." in page
    assert "Nothing that was held stood idle." in page
    assert "Provisional" in page
    assert "nothing needs to be done" in page


def test_unknown_is_said_before_idle_is_blamed(a_week: Report) -> None:
    split = replace(a_week.split, unknown=a_week.split.computing, computing=a_week.split.unknown)
    assert summary.next_step(replace(a_week, split=split)).startswith("First see to the telemetry")


def test_a_partial_week_is_not_compared_with_a_whole_one(a_week: Report) -> None:
    partial = replace(a_week, provisional=True, known_until_ms=a_week.start_ms + 3 * 86_400_000)
    assert "%" not in summary.cards(partial)[0].note
    assert "data until 25 November 2026, 23:00 UTC" in render(partial)


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (("2026-11-23", "2026-11-29"), "23–29 November 2026"),
        (("2026-11-30", "2026-12-06"), "30 November – 6 December 2026"),
        (("2026-12-28", "2027-01-03"), "28 December 2026 – 3 January 2027"),
    ],
)
def test_the_weeks_days_in_words(a_week: Report, days: tuple[str, ...], words: str) -> None:
    assert summary.span_words(replace(a_week, days=days)) == words


@pytest.mark.parametrize(
    ("ratio", "words"), [(None, "–"), (1.0, "100 %"), (0.99999, "99.9 %"), (0.5, "50.0 %"), (0.0, "0.0 %")]
)
def test_coverage_never_rounds_up_to_all(ratio: float | None, words: str) -> None:
    assert summary.percent(ratio).replace("\u00a0", " ") == words


def test_a_notice_is_escaped() -> None:
    assert "<script" not in html.notice("<script>", "<script>", "<script>")


def test_a_share_of_cost_is_not_a_share_of_time(a_week: Report) -> None:
    cheap = replace(a_week.split, idle=replace(a_week.split.idle, cost=Decimal(100)))
    week = replace(a_week, split=cheap, pool_cost=cheap.capacity.cost)
    assert f"100 EUR of it ({100 * 100 / float(cheap.capacity.cost):.1f} %)" in spoken(summary.headline(week))
    assert "0.2 % of the cost, 15.0 % of 21,504 GPU-hours" in spoken(summary.cards(week)[1].note)


def spoken(text: str) -> str:
    return text.replace("\u00a0", " ")
