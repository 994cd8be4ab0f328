"""Scales: from values to pixels, with ticks at round values that are not too close for their labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Steps between ticks of a linear scale, in powers of ten.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
#: Where a logarithmic scale has ticks in each power of ten, from many to few.
_LOG_TICKS = ((1, 2, 5), (1, 3), (1,))
#: A logarithmic scale that spans less than this factor has its ticks at equal steps.
_NARROW = 6.0


#: form -> units of an axis, from the largest: from which value on, how much of the base, and the name.
_UNITS = {
    "time": ((6e11, 6e10, "min"), (1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "\N{MICRO SIGN}s")),
    "bytes": ((1e12, 1e12, "TB"), (1e9, 1e9, "GB"), (1e6, 1e6, "MB"), (1e3, 1e3, "kB")),
    "rate": ((1e9, 1e9, "G/s"), (1e6, 1e6, "M/s"), (1e3, 1e3, "k/s")),
    "share": ((0.0, 0.01, "%"),),
}
_BASES = {"time": "ns", "bytes": "B", "rate": "/s"}


@dataclass(frozen=True)
class Unit:
    """The unit of an axis: how much of the base it is, and its name ("" if it has none)."""

    size: float
    name: str


@dataclass(frozen=True)
class Tick:
    """A value with its label."""

    value: float
    text: str


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` become pixels from ``begin`` to ``end``."""

    low: float
    high: float
    begin: float
    end: float
    form: str
    is_log: bool = False

    @property
    def unit(self) -> Unit:
        """In which the labels of a linear scale are; a logarithmic one has a unit in each label."""
        most = max(abs(self.low), abs(self.high))
        for least, size, name in _UNITS.get(self.form, ()):
            if most >= least:
                return Unit(size, name)
        return Unit(1.0, _BASES.get(self.form, ""))

    def __call__(self, value: float) -> float:
        """Return the pixel of a value; one beyond the ends is put at the end."""
        if self.is_log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self, n_wanted: int) -> list[Tick]:
        """Return at most about so many ticks within the scale, at round values."""
        if self.is_log:
            return self._log_ticks(n_wanted)
        unit = self.unit
        low, high = self.low / unit.size, self.high / unit.size
        step = _step((high - low) / max(n_wanted, 1))
        n_decimals = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if _is_half(step) else 0))
        first = math.ceil(low / step - 1e-9)
        ticks = []
        for place in range(first, math.floor(high / step + 1e-9) + 1):
            value = place * step
            ticks.append(Tick(value * unit.size, f"{value:,.{n_decimals}f}"))
        return ticks

    def _log_ticks(self, n_wanted: int) -> list[Tick]:
        if self.high < _NARROW * self.low:
            step = _step((self.high - self.low) / max(n_wanted - 1, 1))
            places = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
            return [Tick(place * step, _text(place * step, self.form)) for place in places]
        lowest, highest = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        candidates: list[list[float]] = [
            [m * 10.0**power for power in range(lowest, highest + 1) for m in multiples]
            for multiples in _LOG_TICKS
        ]
        candidates += [
            [10.0**power for power in range(lowest, highest + 1) if power % step == 0] for step in (2, 3, 6)
        ]
        found: list[float] = []
        for values in candidates:
            found = [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]
            if len(found) <= n_wanted:
                break
        return [Tick(value, _text(value, self.form)) for value in found]


def linear(values: Iterable[float], begin: float, end: float, form: str, *, from_zero: bool) -> Scale:
    """Return a linear scale that has all values, from zero on or with some room on both sides."""
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            high = 1.0
        return Scale(low, high, begin, end, form)
    room = (high - low) * 0.12 or abs(high) * 0.1 or 1.0
    # What cannot be negative gets no axis below zero.
    return Scale(max(low - room, 0.0) if low >= 0 else low - room, high + room, begin, end, form)


def logarithmic(values: Iterable[float], begin: float, end: float, form: str) -> Scale:
    """Return a logarithmic scale that has all values; those that are not above zero are left out."""
    known = [value for value in values if math.isfinite(value) and value > 0]
    low, high = (min(known), max(known)) if known else (1.0, 10.0)
    room = max((high / low) ** 0.06, 1.15)
    return Scale(low / room, high * room, begin, end, form, is_log=True)


def _text(value: float, form: str) -> str:
    """``10.0 MB`` as ``10 MB``, and ``16 min 40 s`` as ``1,000 s``: ticks are round."""
    if form == "time" and value >= 1e9:
        return f"{value / 1e9:,.6g} s"
    number, _, unit = shown(value, form).partition(" ")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number} {unit}".rstrip()


def _step(at_least: float) -> float:
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(step * power for step in _STEPS if step * power >= at_least * (1 - 1e-9))


def _is_half(step: float) -> bool:
    return abs(step / 10.0 ** math.floor(math.log10(step) + 1e-9) - 2.5) < 1e-6
