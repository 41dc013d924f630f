"""People's units turned into the house's: durations, instants, GPUs, prices, floors; each exact or refused.

Every function takes what the file holds (text, int, Decimal); its ValueError says what was expected.
"""

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from quartermaster.parts import GPU_PARTS

_DURATION = re.compile(r"(?P<number>[0-9]{1,9})(?P<unit>ms|s|m|h|d)")
_UNIT_MS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
_PRICE_PLACES, _PRICE_END = 9, Decimal(10) ** 9  # the ledger's DECIMAL(18,9)
_FIRST_YEAR, _LAST_YEAR = 2000, 2199


def duration_ms(value: object) -> int:
    """Milliseconds of `30s`, `5m`, `2h`, `90d` or `500ms`; above zero."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("a duration is a whole number and a unit: 500ms, 30s, 5m, 2h or 90d")
    if int(match["number"]) == 0:
        raise ValueError("a duration is longer than zero")
    return int(match["number"]) * _UNIT_MS[match["unit"]]


def instant_ms(value: object) -> int:
    """Epoch milliseconds of an ISO 8601 instant with its offset (`2026-11-01T00:00:00Z`); a date alone is its
    midnight in UTC."""
    text = _text(value, "an instant looks like 2026-11-01T00:00:00Z")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("an instant looks like 2026-11-01T00:00:00Z") from error
    if moment.tzinfo is None and len(text) > len("2026-11-01"):
        raise ValueError(
            "an instant needs its offset from UTC: 2026-11-01T00:00:00Z or 2026-11-01T00:00:00+01:00"
        )
    if not _FIRST_YEAR - 1 <= moment.year <= _LAST_YEAR + 1:
        raise ValueError(f"the year {moment.year} is not one that anybody bills")
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"the year {moment.year} is not one that anybody bills")
    if moment.microsecond % 1000:
        raise ValueError("instants are whole milliseconds")
    return (
        int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1000 + moment.microsecond // 1000
    )


def gpu_parts(value: object) -> int:
    """Parts of a number of GPUs: 16, 0.5, `"2.25"`; exact (a third of a GPU has no decimal and is refused)
    and not negative."""
    gpus = _decimal(value, "a number of GPUs is 16 or 0.5")
    if gpus < 0:
        raise ValueError("a number of GPUs is not negative")
    if gpus > 10**7:
        raise ValueError("that is more GPUs than a ledger can count")
    parts = gpus * GPU_PARTS
    if parts != parts.to_integral_value():
        raise ValueError(
            f"{gpus} GPUs are no whole number of parts ({GPU_PARTS} a GPU: tenths, 64ths, thousandths fit)"
        )
    return int(parts)


def price(value: object) -> Decimal:
    """A price of a GPU-hour: a decimal of at most nine places, not negative."""
    amount = _decimal(value, 'a price is a decimal: "3.10"')
    if amount < 0:
        raise ValueError("a price is not below zero")
    if amount >= _PRICE_END or amount != round(amount, _PRICE_PLACES):
        raise ValueError("a price has at most nine places before and after the point")
    return amount


def ratio_permille(value: object) -> int:
    """Permille of a share of one, as a floor of activity: 0.02 is 20; above zero, at most 1, whole
    permille."""
    share = _decimal(value, "a floor of activity is a share of one, such as 0.02")
    permille = share * 1000
    if not 0 < share <= 1 or permille != permille.to_integral_value():
        raise ValueError("a floor of activity is above 0 and at most 1, in steps of 0.001")
    return int(permille)


def share_permille(value: object) -> int:
    """Permille of a share of one: 0.02 is 20; above zero, at most 1, whole permille."""
    permille = _permille(value)
    if not 0 < permille <= 1000:
        raise ValueError("a share is above 0 and at most 1, in steps of 0.001")
    return permille


def multiple_permille(value: object) -> int:
    """Permille of a multiple: 1.5 is 1500; above zero, at most 1,000, whole permille."""
    permille = _permille(value)
    if not 0 < permille <= 1_000_000:
        raise ValueError("a multiple is above 0 and at most 1000, in steps of 0.001")
    return permille


def _permille(value: object) -> int:
    """0 for what is no whole number of them."""
    permille = _decimal(value, "a number such as 0.02 is expected") * 1000
    return int(permille) if permille == permille.to_integral_value() else 0


def power_dw(value: object) -> int:
    """Deciwatts of a floor in watts: 90 is 900; above zero, in steps of a tenth."""
    watts = _decimal(value, "a floor of power is a number of watts, such as 90")
    deciwatts = watts * 10
    if not 0 < watts <= 100_000 or deciwatts != deciwatts.to_integral_value():
        raise ValueError("a floor of power is above 0 W, in steps of 0.1 W")
    return int(deciwatts)


def glob(value: object) -> str:
    """A pattern: `*` stands for any text and `?` for one byte of it; all else for itself, case and all.

    Brackets and backslashes are refused: they mean something else in each tool that knows globs.
    """
    text = _text(value, 'a pattern is text, such as "vision-*" (write numbers in quotes)')
    if not text:
        raise ValueError("a pattern is not empty; * stands for any text")
    if any(character in text for character in "[]\\"):
        raise ValueError("a pattern knows * and ? alone; no brackets, no backslash (? stands for either)")
    return plain_text(text)


def plain_text(value: str) -> str:
    """Text as it is. Control characters and references are refused: a reference stands for a secret, and only
    secrets are read from one."""
    if any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in value):
        raise ValueError("there is a control character in the text")
    if any(0xD800 <= ord(character) < 0xE000 for character in value):
        raise ValueError("there is half a character (a surrogate) in the text")
    if "${" in value:
        raise ValueError("a reference ${…} stands only where a secret is expected")
    return value


def is_web_address(text: str) -> bool:
    """Whether the text is an address of http or https with a host, and a port that there can be."""
    try:
        found = urlsplit(text)
        return (
            text.startswith(("http://", "https://"))
            and bool(found.hostname)
            and found.port != 0
            and not any(character.isspace() for character in text)
        )
    except ValueError:
        return False


def time_zone(value: object) -> str:
    """The name of a time zone of the IANA database."""
    text = _text(value, "a time zone has a name such as Europe/Berlin")
    try:
        return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{value!r} is no time zone; one looks like Europe/Berlin or UTC") from error


def currency(value: object) -> str:
    """A currency's code of three capital letters (ISO 4217)."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z]{3}", value):
        raise ValueError("a currency is three capital letters, such as EUR")
    return value


def _decimal(value: object, expected: str) -> Decimal:
    given = (
        str(value)
        if isinstance(value, int | Decimal) and not isinstance(value, bool)
        else _text(value, expected)
    )
    try:
        number = Decimal(given)
    except InvalidOperation as error:
        raise ValueError(expected) from error
    if not number.is_finite() or "_" in given:
        raise ValueError(expected)
    return number


def _text(value: object, expected: str) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(expected)
