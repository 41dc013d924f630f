"""Gaps and watermarks of a cluster's watches, on a clock of the test's own."""

import pytest

from collector.kubernetes.absence import FIRST, MISSED, Absence, Standing, standing_of

PATIENCE = 180


@pytest.fixture
def absence() -> Absence:
    return Absence("c", "holders", 1000, PATIENCE)


def test_until_the_first_full_picture_nothing_was_known(absence: Absence):
    assert absence.observe(1010, Standing(None)) == ([], [])
    ((gap,), (mark,)) = absence.observe(1030, Standing(1020))
    assert (gap.start_at, gap.end_at, gap.reason, gap.covers) == (1000, 1020, FIRST, "holders")
    assert mark.complete_until_at == 1020


def test_a_watermark_is_what_the_slowest_watch_has_told_and_never_goes_back(absence: Absence):
    absence.observe(1030, Standing(1020))
    assert absence.observe(1060, Standing(1020)) == ([], [])
    assert absence.observe(1060, Standing(1050))[1][0].complete_until_at == 1050
    assert absence.observe(1070, Standing(1040)) == ([], [])


def test_a_cluster_that_is_away_is_a_gap_that_goes_on(absence: Absence):
    absence.observe(1030, Standing(1020))
    ((gap,), (mark,)) = absence.observe(1250, Standing(1060, reason="refused"))
    assert (gap.start_at, gap.end_at, gap.reason) == (1060, None, "away: refused")
    assert mark.complete_until_at == 1250, "a written gap advances the watermark"
    assert absence.observe(1300, Standing(1060))[0] == []


def test_who_was_away_and_goes_on_where_it_was_has_missed_nothing(absence: Absence):
    absence.observe(1030, Standing(1020))
    absence.observe(1250, Standing(1060))
    ((gap,), _) = absence.observe(1330, Standing(1320))
    assert (gap.start_at, gap.end_at, gap.revision) == (1060, 1060, 1), "withdrawn"


def test_who_was_away_for_too_long_has_missed_it_all(absence: Absence):
    absence.observe(1030, Standing(1020))
    absence.observe(1250, Standing(1060))
    ((gap,), _) = absence.observe(1330, Standing(1320, ((1060, 1310),)))
    assert (gap.start_at, gap.end_at, gap.revision) == (1060, 1310, 1)


def test_changes_that_the_server_has_forgotten_are_a_gap(absence: Absence):
    absence.observe(1030, Standing(1020))
    ((gap,), _) = absence.observe(1080, Standing(1075, ((1050, 1070),)))
    assert (gap.start_at, gap.end_at, gap.reason) == (1050, 1070, MISSED)


def test_who_never_comes_is_a_gap_from_the_start(absence: Absence):
    ((gap,), (mark,)) = absence.observe(1200, Standing(None, reason="pods: 403: forbidden"))
    assert (gap.start_at, gap.end_at) == (1000, None)
    assert "forbidden" in gap.reason
    assert mark.complete_until_at == 1200
    ((ended,), _) = absence.observe(1300, Standing(1290))
    assert (ended.start_at, ended.end_at) == (1000, 1290)


def test_watches_stand_as_the_one_that_lags_most():
    assert standing_of([5, 9, 7], [], []).complete_ms == 5
    assert standing_of([5, None], [], ["b", "a", "a"]) == Standing(None, (), "a; b")
    assert standing_of([], [], []).complete_ms is None
