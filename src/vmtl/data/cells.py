"""One text cell as a number or as a date."""

from __future__ import annotations

import datetime
import re

#: Signs and codes of currencies; ``%`` is the other unit that is read.
_CURRENCIES = r"US\$|[$€£¥₹₩₺₽]|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|INR|CNY)\b"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−])?\s*(?P<before>{_CURRENCIES})?\s*(?P<inner>[-+−])?"
    r"(?P<digits>(?:\d|[.,]\d)[\d.,'’\u00a0\u202f ]*?)(?P<exponent>[eE][-+]?\d+)?"
    rf"\s*(?P<after>%|{_CURRENCIES})?\s*(?P<close>\))?"
)
_SPACES = "'’\u00a0\u202f "
#: The digits of a number, for either decimal sign: groups of three, or none.
_DIGITS = {
    sign: re.compile(rf"(?:[1-9]\d{{0,2}}(?:([{re.escape(other)}{_SPACES}])\d{{3}})(?:\1\d{{3}})*|\d+)?(?:{mark}\d*)?")
    for sign, other, mark in ((".", ",", r"\."), (",", ".", ","))
}
_TIME = (
    r"(?:,?[ T]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_NUMERIC_DATE = re.compile(r"(?P<a>\d{1,4})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{4}|\d{2})" + _TIME)
_DAY_MONTH = re.compile(r"(?P<day>\d{1,2})\.?[ -]+(?P<month>[A-Za-z]{3,9})\.?,?[ -]+(?P<year>\d{4})" + _TIME)
_MONTH_DAY = re.compile(r"(?P<month>[A-Za-z]{3,9})\.? +(?P<day>\d{1,2}),? +(?P<year>\d{4})" + _TIME)
_COMPACT = re.compile(r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def parse_number(cell: str, decimal: str = ".", unit: str = "") -> float | None:
    """The number that a cell shows: ``$1,234.50`` is 1234.5, ``45%`` is 0.45, ``(12)`` is -12; None if it is none.

    With a ``unit``, a number of another unit is none.
    """
    found = _NUMBER.fullmatch(cell.strip())
    if found is None or bool(found["open"]) != bool(found["close"]) or (found["before"] and found["after"]):
        return None
    own = found["before"] or found["after"] or ""
    if (own and unit and own != unit) or (found["sign"] and found["inner"]):
        return None
    digits = found["digits"].rstrip()
    if not _DIGITS[decimal].fullmatch(digits):
        return None
    other = "," if decimal == "." else "."
    plain = digits.translate(str.maketrans("", "", _SPACES + other)).replace(decimal, ".")
    value = float(plain + (found["exponent"] or "")) / (100 if own == "%" else 1)
    negative = bool(found["open"]) or (found["sign"] or found["inner"] or "+") in "-−"
    return -value if negative else value


def unit_of(cell: str) -> str:
    """The currency or per cent sign of a number; empty where it has none."""
    found = _NUMBER.fullmatch(cell.strip())
    return "" if found is None else found["before"] or found["after"] or ""


def possible_orders(cell: str) -> set[str]:
    """The orders of day and month, ``dmy`` and ``mdy``, in which a cell is a date; a year in front leaves both."""
    return {order for order in ("dmy", "mdy") if parse_date(cell, order, compact=False) is not None}


def parse_date(cell: str, order: str, compact: bool = True) -> float | None:
    """Days since 1970-01-01 of the date, and time of day, that a cell shows; None if it shows none.

    ``order`` is ``dmy`` or ``mdy``; with ``ymd`` only what is a date in either order is read. With ``compact``,
    20231218 is a date too.
    """
    text = cell.strip()
    found = _NUMERIC_DATE.fullmatch(text)
    if found is not None:
        parts = _year_month_day(found, order)
        return None if parts is None else _days(parts, found)
    found = _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text)
    if found is not None:
        month = _month(found["month"].lower())
        return None if month is None else _days((int(found["year"]), month, int(found["day"])), found)
    found = _COMPACT.fullmatch(text) if compact else None
    return None if found is None else _days((int(found["year"]), int(found["month"]), int(found["day"])), None)


def _year_month_day(found: re.Match[str], order: str) -> tuple[int, int, int] | None:
    a, b, c = found["a"], found["b"], found["c"]
    if len(a) == 4:
        return (int(a), int(b), int(c)) if len(c) == 2 else None
    if order == "ymd" or len(a) == 3 or (len(c) == 2 and (len(a) < 2 or len(b) < 2) and found["mark"] != "/"):
        return None  # 1.2.10 is a version rather than a date
    year = int(c) if len(c) == 4 else int(c) + (1900 if int(c) > 68 else 2000)
    return (year, int(b), int(a)) if order == "dmy" else (year, int(a), int(b))


def _month(name: str) -> int | None:
    matches = [number for number, month in enumerate(_MONTHS, start=1) if name in (month, month[:3], month[:4])]
    return matches[0] if matches else None


def _days(date: tuple[int, int, int], found: re.Match[str] | None) -> float | None:
    try:
        day = datetime.date(*date).toordinal() - _EPOCH
    except ValueError:
        return None
    if found is None or found["hour"] is None:
        return float(day)
    hour, minute, second = int(found["hour"]), int(found["minute"]), float(found["second"] or 0)
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    if hour > 24 or minute > 59 or second >= 61:
        return None
    return day + (hour * 3600 + minute * 60 + second) / 86_400 - _offset(found["zone"])


def _offset(zone: str | None) -> float:
    """The share of a day by which a zone is ahead of UTC."""
    if not zone or zone == "Z":
        return 0.0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (-1 if zone[0] == "-" else 1) * (hours + minutes / 60) / 24
