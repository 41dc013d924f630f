"""Due: the business days whose charges may be others than those in the ledger."""

from analytics.business import Day, business_day, days_between
from analytics.money.rates import Prices, money_sql
from sql.ledger import Cursor

_OF_ALLOCATIONS = {"preemptible", "cpu_hour", "memory_gib_hour"}  # prices that look at more than usage


def due_days(cursor: Cursor, snapshot_id: int, time_zone: str, prices: Prices) -> list[Day]:
    """The days whose usage or prices have changed since the last charging, as of this snapshot, in order.

    Where a card credits lost work, also those before a stop that was told since; where it has prices for what
    allocations ask for or may suffer, those of one that was told otherwise; where it has commitments, also those within
    the span of usage that have none charged.

    All days, where the last charging was in another time zone, or is so long ago that it is forgotten. Nothing
    of it is kept but in the key of that charging's commit: a roll-up whose charging failed is not overlooked.
    """
    found = cursor.execute(money_sql("last_charging")).fetchone()
    read_until, charged_in = _parts(found[0]) if found else (0, "")
    if not found or not found[1] or charged_in != time_zone:
        return all_days(cursor, time_zone)
    since = {"after": read_until + 1, "now": snapshot_id}
    rewritten = {day for (day,) in cursor.execute(money_sql("rewritten_days"), since).fetchall()}
    due = {day: business_day(day, time_zone) for day in rewritten}
    repriced = cursor.execute(money_sql("repriced_from"), since).fetchone()
    if repriced and repriced[0] is not None:
        due |= {day.day: day for day in all_days(cursor, time_zone) if day.end_ms > repriced[0]}
    if prices.lost_at_most_ms:
        for (told_ms,) in cursor.execute(money_sql("ended_work"), since).fetchall():
            before = days_between(told_ms - prices.lost_at_most_ms, told_ms, time_zone)
            due |= {day.day: day for day in before}
    if _OF_ALLOCATIONS & prices.measures:
        for start_ms, end_ms in cursor.execute(money_sql("retold"), since).fetchall():
            due |= {
                day.day: day
                for day in all_days(cursor, time_zone)
                if day.end_ms > start_ms and (end_ms is None or day.start_ms < end_ms)
            }
    if any(card.terms.commitments for card in prices.cards):
        charged = {day for (day,) in cursor.execute(money_sql("committed_days")).fetchall()}
        due |= {day.day: day for day in all_days(cursor, time_zone) if day.day not in charged}
    return [due[name] for name in sorted(due)]


def all_days(cursor: Cursor, time_zone: str) -> list[Day]:
    """The days that have usage or charges, in order."""
    used = cursor.execute(money_sql("span")).fetchone()
    days = days_between(used[0], used[1], time_zone) if used and used[0] is not None else []
    charged = cursor.execute("select distinct business_day from charges").fetchall()
    found = {name: business_day(name, time_zone) for (name,) in charged} | {day.day: day for day in days}
    return [found[name] for name in sorted(found)]


def due_key(snapshot_id: int, time_zone: str) -> str:
    """The key of the commit that charges all that was due in this snapshot."""
    return f"charges/until/{snapshot_id}/{time_zone}"


def _parts(key: str) -> tuple[int, str]:
    snapshot_id, _, time_zone = key.removeprefix("charges/until/").partition("/")
    return int(snapshot_id), time_zone
