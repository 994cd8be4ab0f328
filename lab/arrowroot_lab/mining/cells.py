"""How the value of a cell is shown to people: three digits, with its unit. MB is 10^6 bytes, as everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: form -> (from which value on, in which unit), from the largest.
_UNITS = {
    "time": ((6e11, 6e10, "min"), (1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "µs"), (0.0, 1.0, "ns")),
    "bytes": ((1e12, 1e12, "TB"), (1e9, 1e9, "GB"), (1e6, 1e6, "MB"), (1e3, 1e3, "kB"), (0.0, 1.0, "B")),
    "share": ((0.0, 0.01, "%"),),
}
_N_DIGITS = 3
#: From here on a number that is no count is shown as a power of ten.
_HUGE = 1e9
MISSING = "\N{EN DASH}"


@dataclass(frozen=True)
class Unit:
    """A unit: how much of the base it is, and its name ("" if it has none)."""

    size: float
    name: str

    def text(self, value: float, n_digits: int = _N_DIGITS) -> str:
        """Return a number that is in this unit, with so many digits."""
        return f"{_digits(value, n_digits)} {self.name}".rstrip()


def unit_for(value: float, form: str) -> Unit:
    """Return the unit in which a value of this form is read best."""
    for least, size, name in _UNITS.get(form, ()):
        # What rounds up to the next unit is shown in it: 1.00 s, not 1000 ms.
        if abs(value) >= least * 0.9995:
            return Unit(size, name)
    return Unit(1.0, "")


def cell_text(value: Any, form: str = "text") -> str:
    """Return the text of one cell: "1.23 ms", "45.6 MB", "12,345", "98.7 %", "2026-11-26 12:30", or a dash for None."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if form == "date":
        return str(value)[:16].replace("T", " ")
    if isinstance(value, int | float):
        if form == "count":
            return f"{value:,}" if isinstance(value, int) or value.is_integer() else f"{value:,.1f}"
        unit = unit_for(value, form)
        return unit.text(value / unit.size)
    return str(value)


def _digits(value: float, n_digits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    power = math.floor(math.log10(abs(value)))
    if abs(value) >= _HUGE or power < -4:
        return f"{value:.{n_digits - 1}e}"
    rounded = round(value, n_digits - 1 - power)
    n_decimals = max(n_digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{rounded:,.{n_decimals}f}"
    return text.rstrip("0").rstrip(".") if value == int(value) and "." in text else text
