"""The range that ROOT finds from the entries, for an axis without limits.

Source: ``THLimitsFinder::OptimizeLimits`` and ``Optimize`` (ROOT 6.40).
"""

from __future__ import annotations

from math import log10

#: ``FLT_MAX``, above which no bin width is rounded.
_LARGEST_WIDTH = 3.4028234663852886e38
_LARGEST_PLACE = 1e9
_LARGEST_LOG = 200
_STEPS = (1, 2, 5)
_SLACK = 1e-10
#: ROOT takes the first range that it finds if there are at most so many bins.
_FEW_BINS = 5


def good_limits(lowest: float, highest: float, n_bins: int) -> tuple[float, float]:
    """Return a range of round numbers around the lowest and the highest of finite values."""
    if lowest >= highest:
        lowest, highest = lowest - 1, highest + 1
    margin = 0.1 * (highest - lowest)
    low = 0.0 if lowest >= 0 > lowest - margin else lowest - margin
    high = 0.0 if highest <= 0 < highest + margin else highest + margin
    found = _rounded(low, high if low != high else low + 1, n_bins)
    if found is None:
        return -1.0, 1.0
    least = 0.01 * (highest - lowest)
    return min(found[0], lowest - least), max(found[1], highest + least)


def _rounded(low: float, high: float, n_bins: int) -> tuple[float, float] | None:
    """Return multiples of a round bin width near the limits; None if the bins are too wide or too narrow for any."""
    n_wanted = max(n_bins, 2)
    while True:
        width = (high - low) / n_wanted
        if not 0 < width < _LARGEST_WIDTH:
            return None
        # Towards 0, as a cast.
        exponent = int(log10(width))
        if abs(exponent) > _LARGEST_LOG:
            return 0.0, 1.0
        if width <= 1:
            exponent -= 1
        # What follows a 5 is a 1 of the next power.
        digits = width * 10.0**-exponent - _SLACK
        step = next((step for step in _STEPS if digits <= step), None)
        width = 10.0 ** (exponent + 1) if step is None else step * 10.0**exponent
        if abs(low / width) > _LARGEST_PLACE:
            return low, high
        first, last = _floor(low / width), _floor(high / width + 1.00001)
        if n_bins <= _FEW_BINS or 2 * (last - first) != n_bins:
            break
        n_wanted += 1
    begin, end = width * first, width * last
    if n_bins == 1 and last - first != 1:
        width *= 2
    tolerance = 0.0001 * width
    inner = (
        begin + width if low - begin >= tolerance else begin,
        end - width if end - high >= tolerance else end,
    )
    return inner if inner[0] < inner[1] else (begin, end)


def _floor(value: float) -> int:
    """Return the integer that ROOT takes for the next lower one: for negative integers it is one less."""
    return int(value) - (value < 0)
