"""Sizes, times and counts, to and from text. MB is 10^6 bytes, MiB is 2^20, everywhere."""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING

from arrowroot import _native
from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Units from the smallest on. They are the same in all that is shown; documents for programs have bytes and ns.
_SHOWN_BYTES = tuple((1000.0**power, unit) for power, unit in enumerate(("B", "kB", "MB", "GB", "TB", "PB")))
#: What is so near to one of the next unit is one.
_ALL_BUT = 1 - 1e-9
_SHOWN_SECONDS = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"))
#: The largest integer of the engine.
LARGEST = 2**63 - 1
# The expressions are compiled at their first use: this takes longer than to load the rest of the module.
_QUANTITY = r"(?i)\s*([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|\.[0-9]+)\s*([a-zµ]*)\s*"
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
_LONGEST_S = 1e9
_BITS: dict[str, float] = {
    f"{letter}bit": 1000**power / 8 for power, letter in enumerate(("", "k", "m", "g", "t"))
}


def parse_size(size: int | str, what: str = "size") -> int:
    """Return ``size`` in bytes: an int, or text as "64 MB" (10^6), "64 MiB" or "64M" (2^20), "4096".

    Raises: InvalidRequestError, naming ``what``, for anything else and for sizes below one byte.
    """
    n_bytes: int | None
    if isinstance(size, str):
        n_bytes = _native.parse_size(size)
        if n_bytes is None:
            raise InvalidRequestError(
                f"{what}: {shown(size)} is not a size; write 64000000, '64 MB' or '64 MiB'"
            )
    else:
        try:
            n_bytes = None if isinstance(size, bool) else operator.index(size)
        except TypeError:
            n_bytes = None
        if n_bytes is None:
            raise InvalidRequestError(f"{what}: expected bytes or text as '64 MB', got {shown(size)}")
    if n_bytes < 1:
        raise InvalidRequestError(f"{what}: {shown(size)} is below one byte")
    if n_bytes > LARGEST:
        raise InvalidRequestError(f"{what}: {shown(size)} is more than any memory")
    return n_bytes


def checked_count(count: int, what: str, lowest: int = 0) -> int:
    """Return a number from ``lowest`` on. Raises: InvalidRequestError, naming ``what``, for anything else."""
    try:
        number = -1 if isinstance(count, bool) else operator.index(count)
    except TypeError:
        number = -1
    if not lowest <= number <= LARGEST:
        end = f"to {LARGEST}" if number > LARGEST else "on"
        raise InvalidRequestError(f"{what}: expected a number from {lowest} {end}, got {shown(count)}")
    return number


def parse_digits(text: str) -> int:
    """Return the number of a text of decimal digits; one beyond the engine's is ``LARGEST + 1``.

    Python reads no thousands of digits.
    """
    digits = text.strip().lstrip("0") or "0"
    return min(int(digits), LARGEST + 1) if len(digits) < 20 else LARGEST + 1


def parse_seconds(text: str, what: str = "duration") -> float:
    """Return a duration in seconds from text as "5 ms", "0.2 s" or "100us".

    Raises: InvalidRequestError, naming ``what``, for anything else, for a number but 0 without a unit, above 10^9 s.
    """
    if text.strip() == "0":
        return 0.0
    match = re.fullmatch(_QUANTITY, text)
    factor = _SECONDS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise InvalidRequestError(f"{what}: {text!r} is not a duration; write '5ms', '0.2s' or '100us'")
    seconds = float(match[1]) * factor
    if seconds > _LONGEST_S:
        raise InvalidRequestError(f"{what}: {text!r} is longer than anybody waits")
    return seconds


def parse_rate(text: str, what: str = "bandwidth") -> float:
    """Return bytes per second from text as "12 MB/s" (10^6), "1 GiB/s" (2^30) or "100 Mbit/s".

    Raises: InvalidRequestError, naming ``what``, for anything else, for "Mb/s" and for less than a byte a second.
    """
    amount, slash, unit = text.rpartition("/")
    match = re.fullmatch(_QUANTITY, amount) if slash and unit.strip().lower() == "s" else None
    unit_bytes = _native.parse_size(f"1{match[2]}") if match is not None and match[2] else None
    if match is not None and match[2].endswith("b") and unit_bytes is not None:
        # "Mb/s" means bits to some and bytes to others: a factor of 8.
        number, prefix = match[1], match[2][:-1]
        bits = f" or '{number}{prefix}bit/s'" if f"{prefix.lower()}bit" in _BITS else ""
        raise InvalidRequestError(
            f"{what}: {text!r} could be bits or bytes; write '{number}{prefix}B/s'{bits}"
        )
    factor = _BITS.get(match[2].lower(), unit_bytes) if match else None
    if match is None or factor is None or not 1 <= float(match[1]) * factor < math.inf:
        raise InvalidRequestError(f"{what}: {text!r} is not a rate; write '12MB/s', '1GiB/s' or '100Mbit/s'")
    return float(match[1]) * factor


def compression_ratio(memory_bytes: int, stored_bytes: int) -> float | None:
    """Return uncompressed over compressed bytes, None if one of them is not known: the one definition of all reports.

    Both are of whole baskets with their keys (fTotBytes and fZipBytes), or of the pages of an RNTuple.
    """
    return memory_bytes / stored_bytes if memory_bytes and stored_bytes else None


def format_bytes(n_bytes: float) -> str:
    """Return a size to read, three digits and a decimal unit: "12.3 MB"."""
    return _scaled(n_bytes, _SHOWN_BYTES)


def format_rate(bytes_per_s: float) -> str:
    """Return bytes per second to read: "12.3 MB/s"."""
    return f"{format_bytes(bytes_per_s)}/s"


def format_binary(n_bytes: int) -> str:
    """Return a size in the binary unit that divides it: "4 KiB", "128 MiB", "1000 B"."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if n_bytes and n_bytes % 1024**power == 0:
            return f"{n_bytes // 1024**power} {unit}"
    return f"{n_bytes} B"


def three_digits(value: float) -> str:
    """Return a number with three significant digits and no exponent: 1.23, 12.3, 123, 12345."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # The number is rounded first: 0.9999 shows as 1.00, not as 1.000.
    size = abs(float(f"{value:.2e}"))
    n_decimals = (
        0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 2 - math.floor(math.log10(size))
    )
    return f"{value:.{n_decimals}f}"


def format_count(count: int) -> str:
    """Return an exact count to read: "1,234,567"."""
    return f"{count:,}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 cluster", "2,000 clusters"."""
    return f"{format_count(count)} {noun if count == 1 else plural or noun + 's'}"


def format_seconds(seconds: float) -> str:
    """Return a duration to read, three digits and the unit that fits: "850 µs", "12.3 ms", "4.56 s", "1.98 min"."""
    return _scaled(seconds, _SHOWN_SECONDS) if seconds else "0 s"


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    """Return a value in the first unit in which it is less than one of the next; of the first there are no parts."""
    *smaller, (size, unit) = units
    larger = [next_size for next_size, _ in units[1:]]
    for i, ((one, name), next_one) in enumerate(zip(smaller, larger, strict=True)):
        # The number is rounded first: 999,999 bytes are 1.00 MB, not 1000 kB, and 59.97 s are a minute.
        number = three_digits(value / one) if i else f"{value / one:.0f}"
        if abs(float(number)) * one < next_one * _ALL_BUT:
            return f"{number} {name}"
        value = float(number) * one
    return f"{three_digits(value / size)} {unit}"


def cut_text(missing_bytes: int) -> str:
    """Return what is wrong with a file that was cut short by so much."""
    return f"the file is cut short, its last {format_bytes(missing_bytes)} are missing"
