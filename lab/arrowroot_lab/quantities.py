"""Quantities as people write and read them: times, sizes, rates, shares. MB is 10^6 bytes, MiB 2^20."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\d\s.][^\d.]*?)\s*", re.ASCII)

TIMES = {
    "ns": 1, "us": 10**3, "\N{MICRO SIGN}s": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}  # fmt: skip
SIZES = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}  # fmt: skip
RATES = {f"{unit}/s": float(factor) for unit, factor in SIZES.items()} | {
    "Mbit/s": 1e6 / 8,
    "Gbit/s": 1e9 / 8,
}
#: In which they are written, for people.
_SHOWN_TIMES = (
    (1.0, "ns"), (1e3, "\N{MICRO SIGN}s"), (1e6, "ms"), (1e9, "s"), (60e9, "min"), (3600e9, "h"), (86400e9, "d"),
)  # fmt: skip
_SHOWN_SIZES = tuple((1e3**power, unit) for power, unit in enumerate(("B", "kB", "MB", "GB", "TB", "PB")))
#: Above it, integers are no longer those of JSON and SQL.
_MOST = 2.0**62


def _parsed(text: str, units: dict[str, int] | dict[str, float], example: str) -> float:
    match = _NUMBER.fullmatch(text)
    factor = units.get(match[2]) if match else None
    if match is None or factor is None:
        raise ValueError(
            f"expected a number and a unit ({', '.join(units)}) such as {example!r}, not {text!r}"
        )
    # Exactly, so that 1.1 MB/s is 1100 kB/s.
    value = float(Decimal(match[1]) * Decimal(factor))
    if value > _MOST:
        raise ValueError(f"{text!r} is too much")
    return value


def parse_time_ns(text: str) -> int:
    """Return the nanoseconds of a time such as ``50 ms``. Raises: ValueError that says what was expected."""
    return round(_parsed(text, TIMES, "50 ms"))


def parse_bytes(text: str) -> int:
    """Return the bytes of a size such as ``10 MB``. Raises: ValueError that says what was expected."""
    return round(_parsed(text, SIZES, "10 MB"))


def parse_rate(text: str) -> float:
    """Return the bytes a second of a rate such as ``12 MB/s``. Raises: ValueError that says what was expected."""
    return _parsed(text, RATES, "12 MB/s")


def parse_share(value: str | float) -> float:
    """Return a share in (0, 1] of ``1 %`` or 0.01. Raises: ValueError that says what was expected."""
    problem = f"expected a share such as '1 %' or 0.01, more than 0 and at most 100 %, not {value!r}"
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match is None or match[2] != "%":
            raise ValueError(problem)
        value = float(Decimal(match[1]) / 100)
    if not 0 < value <= 1:
        raise ValueError(problem)
    return float(value)


def size_text(n_bytes: float) -> str:
    """Write a size: ``12.3 MB``."""
    return scaled(n_bytes, _SHOWN_SIZES)


def exact_size_text(n_bytes: int) -> str:
    """Write a size as somebody told it, in powers of two or ten: ``4 KiB``, ``12.8 MiB``, ``30 MB``; else in bytes."""
    for unit in ("GiB", "MiB", "KiB", "GB", "MB", "kB"):
        told = round(n_bytes / SIZES[unit], 1)
        if told >= 1 and round(told * SIZES[unit]) == n_bytes:
            return f"{told:g} {unit}"
    return f"{n_bytes} B"


def time_text(ns: float) -> str:
    """Write a time: ``45.6 ms``, ``1.23 s``; from a minute on ``2.08 min``."""
    return scaled(ns, _SHOWN_TIMES) if ns else "0 s"


def scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    """Write a value with three digits, in the first unit in which it is less than one of the next.

    Whole ones of the first unit are written as they are.

    units: sizes and names, the smallest first
    """
    if not math.isfinite(value):
        return "unknown"
    for place, (size, unit) in enumerate(units):
        # Rounded first: 59.97 s are a minute, and 999,999 bytes a MB.
        if place == len(units) - 1 or abs(float(f"{value / size:.3g}")) * size < units[place + 1][0]:
            number = value / size
            return (
                f"{number:.0f} {unit}" if place == 0 and number % 1 == 0 else f"{three_digits(number)} {unit}"
            )
    raise AssertionError("unreachable: the last unit takes all")


def three_digits(value: float) -> str:
    """Write a number with three digits that count, without an exponent: ``1.23``, ``12.3``, ``12,300``."""
    rounded = float(f"{value:.3g}")
    if rounded == 0 or abs(rounded) >= 100:
        return f"{rounded:,.0f}"
    return f"{rounded:.1f}" if abs(rounded) >= 10 else f"{rounded:.2f}"
