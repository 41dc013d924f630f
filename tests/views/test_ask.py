"""Questions in SQL from a page: the reader's rows alone, and each is noted before its answer is shown."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analytics.asking.question import Answer, Door, Words, answered, columns_of, csv_of, named
from analytics.scope import ALL, Scope
from quartermaster.errors import InputError
from sql.ledger import Ledger

ASKER = "person-0000000000000"
TEAMS = "select distinct team from reporting.usage_by_hour where team is not null order by team"


def door(ledger: Ledger, scope: Scope = ALL) -> Door:
    return Door(ledger.folder, ledger.kind, scope, ASKER)


def noted(ledger: Ledger) -> dict[str, Any]:
    return ledger.query("select * from sql_asked order by recorded_at desc limit 1").row(0, named=True)


def test_a_named_question_is_answered_and_noted(scene: Ledger) -> None:
    answer = answered(door(scene), named("idle-by-team", {"team": "vision", "from": ""}))
    assert answer.rows[0][0] == "vision"
    assert Decimal(str(answer.rows[0][1])) == Decimal("3.14")  # 2 × (1 + 3/7 + 1/7)
    row = noted(scene)
    assert (row["token"], row["question"], row["outcome"], row["rows"]) == (
        ASKER,
        "idle-by-team",
        "answered",
        1,
    )
    assert row["parameters"] == '{"team": "vision"}'
    assert row["form"] == "page"


@pytest.mark.patient
def test_a_reader_with_teams_has_their_rows_alone(scene: Ledger) -> None:
    mine = Scope(frozenset({"speech"}))
    assert answered(door(scene, mine), Words(TEAMS, {})).rows == [("speech",)]
    assert answered(door(scene, mine), named("idle-by-team", {"team": "vision"})).rows == []
    with pytest.raises(InputError):
        answered(door(scene, mine), Words("select * from usage_hourly", {}))
    assert noted(scene)["outcome"] == "refused"


@pytest.mark.patient
def test_what_is_no_question_is_refused_and_noted(scene: Ledger) -> None:
    with pytest.raises(InputError, match="no question"):
        answered(door(scene), Words("  ", {}))
    with pytest.raises(InputError):
        answered(door(scene), Words("delete from usage_hourly", {}))
    row = noted(scene)
    assert (row["outcome"], row["query"]) == ("refused", "delete from usage_hourly")
    assert row["words"]
    with pytest.raises(InputError, match="no question 'idle-by-tea'"):
        named("idle-by-tea", {})


def test_an_answer_as_columns_and_as_a_file() -> None:
    answer = Answer(
        ["a", "a", "b"], [("=1+1", Decimal("1.50"), None), ("\u202e", Decimal(2), None)], False, 0.1
    )
    shown = columns_of(answer)
    assert shown.columns == ["a (1)", "a (2)", "b"]
    assert shown["a (1)"].to_list() == ["'=1+1", "\ufffd"]
    assert isinstance(shown.schema["a (2)"], pl.Decimal)
    assert csv_of(answer).splitlines()[1] == "'=1+1,1.50,"
