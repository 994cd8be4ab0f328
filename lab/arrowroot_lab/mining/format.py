"""How values are shown, on the command line and on the pages alike. MB is 10^6 bytes."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from arrowroot_lab.quantities import scaled, size_text, three_digits, time_text

if TYPE_CHECKING:
    from collections.abc import Callable

_RATES = ((1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s"))
_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
#: What stands where there is no value.
NOTHING = "-"
#: Characters of a key.
N_KEY = 8


def shown(value: Any, form: str) -> str:
    """Return a value as text.

    Args:
        value: of a cell; text stays as it is, whatever the form, so that a cell can say *failed*
        form: of its column: text, key, time (ns), bytes, count, ratio, share, rate (per second), age (s), date, day
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        cut = _CUTS.get(form)
        return value if cut is None else cut(value)
    show = _FORMS.get(form)
    return show(float(value)) if show is not None else str(value)


def age_s(date: str, at: datetime | None = None) -> float:
    """Return how many seconds ago a date of a document was."""
    then = datetime.fromisoformat(date.replace("Z", "+00:00"))
    return ((at or datetime.now(timezone.utc)) - then).total_seconds()


def count(value: float) -> str:
    """``1234567`` -> ``1,234,567``."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def ratio(value: float) -> str:
    """``1.0523`` -> ``1.052``, ``4.7004`` -> ``4.70``: three digits, but near one, where more tell most."""
    return f"{value:.3f}" if abs(value) < 2 else three_digits(value)


def share(value: float) -> str:
    """``0.0523`` -> ``5.2 %``."""
    return f"{100 * value:.1f} %"


def rate(value: float) -> str:
    """``1234567`` -> ``1.23 M/s``."""
    return scaled(value, _RATES)


def age(value: float) -> str:
    """``100000`` -> ``1 day``."""
    for size, name in _SPANS:
        n = int(value // size)
        if n:
            return f"{n:,} {name}" + ("s" if n > 1 else "")
    return "now"


#: Of texts: a key's beginning tells it from others, and commands take it.
_CUTS: dict[str, Callable[[str], str]] = {
    "key": lambda value: value[:N_KEY],
    "date": lambda value: value[:16].replace("T", " "),
    "day": lambda value: value[:10],
}
_FORMS: dict[str, Callable[[float], str]] = {
    "time": time_text,
    "bytes": size_text,
    "count": count,
    "ratio": ratio,
    "share": share,
    "rate": rate,
    "age": age,
}
