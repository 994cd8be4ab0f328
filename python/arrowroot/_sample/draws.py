"""Random numbers that are the same on every machine and with every NumPy.

Only the bits of a generator are promised to stay (NumPy's policy), and functions such as the logarithm round
differently on different processors. So every distribution is a table of its quantiles, rounded to few bits, and a draw
is a look-up.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    #: The values of a distribution, 256 or 65,536 of them, all equally probable.
    Table = npt.NDArray[Any]

_N_FINE = 1 << 16
_N_COARSE = 1 << 8
#: Bits that a single-precision number has after the point.
_MANTISSA_BITS = 23
#: Where distributions have their quantiles: above 0, below 1, and equally far from each other.
_PROBABILITIES = (np.arange(_N_FINE) + 0.5) / _N_FINE


class Draws:
    """Random numbers of one step of one sample."""

    def __init__(self, seed: int, step: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, step]))

    def fine(self, n: int) -> npt.NDArray[np.uint16]:
        """Return ``n`` numbers below 65,536."""
        raw = self._bits.random_raw((n + 3) // 4)
        return raw.astype("<u8", copy=False).view("<u2")[:n]

    def coarse(self, n: int) -> npt.NDArray[np.uint8]:
        """Return ``n`` numbers below 256."""
        raw = self._bits.random_raw((n + 7) // 8)
        return raw.astype("<u8", copy=False).view("u1")[:n]

    def of(self, table: Table, n: int) -> npt.NDArray[Any]:
        """Return ``n`` values of a distribution."""
        return table[self.coarse(n) if len(table) == _N_COARSE else self.fine(n)]


def truncated(values: npt.NDArray[Any], bits: int) -> npt.NDArray[np.float32]:
    """Return single-precision numbers with so many bits after the point: the others are zeros for the compressor."""
    single: npt.NDArray[np.float32] = values.astype(np.float32)
    kept = np.uint32(((1 << 32) - 1) ^ ((1 << (_MANTISSA_BITS - bits)) - 1))
    result: npt.NDArray[np.float32] = (single.view(np.uint32) & kept).view(np.float32)
    return result


def _each(function: Callable[[float], float], at: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a function's values, one by one: those of NumPy are not the same on every processor."""
    return np.array([function(x) for x in at.tolist()])


@cache
def _logarithms() -> npt.NDArray[Any]:
    return _each(math.log1p, -_PROBABILITIES)


@cache
def _of_normal(edge: float) -> npt.NDArray[Any]:
    return _each(NormalDist().inv_cdf, 1 - edge + (2 * edge - 1) * _PROBABILITIES)


@cache
def uniform(low: float, high: float, bits: int = 10) -> Table:
    """Return the uniform distribution."""
    return truncated(low + (high - low) * _PROBABILITIES, bits)


@cache
def falling(least: float, scale: float, bits: int = 10) -> Table:
    """Return the exponential distribution from ``least`` on."""
    return truncated(least - scale * _logarithms(), bits)


@cache
def normal(mean: float, width: float, most: float = math.inf, bits: int = 10) -> Table:
    """Return the normal distribution, of which at most ``most`` from the mean is left."""
    return truncated(mean + width * _of_normal(NormalDist().cdf(most / width)), bits)


@cache
def peaked(width: float, bits: int = 10) -> Table:
    """Return the Laplace distribution: narrow, with long tails on both sides."""
    lower = width * _each(math.log, 2 * _PROBABILITIES[: _N_FINE // 2])
    return truncated(np.concatenate([lower, -lower[::-1]]), bits)


@cache
def power(exponent: float, bits: int = 10) -> Table:
    """Return a distribution from 0 to 1, mostly near 0 for exponents above 1."""
    return truncated(_each(lambda u: u**exponent, _PROBABILITIES), bits)


@cache
def mostly(value: float, share: float, function: Callable[..., Table], *arguments: float) -> Table:
    """Return another distribution, of which a share is one value instead."""
    other = function(*arguments)
    table = other[np.arange(_N_FINE) * 40503 % _N_FINE].copy()
    table[: int(share * _N_FINE)] = value
    result: Table = table
    return result


@cache
def one_of(values: tuple[int, ...], weights: tuple[float, ...], dtype: str = "i4") -> Table:
    """Return the distribution of some integers, or of truth values."""
    edges = np.cumsum(weights) / math.fsum(weights)
    indices = np.searchsorted(edges, (np.arange(_N_COARSE) + 0.5) / _N_COARSE)
    return np.array(values)[np.minimum(indices, len(values) - 1)].astype(dtype)


def flag(share: float) -> Table:
    """Return the distribution of a bit that is set so often."""
    return one_of((1, 0), (share, 1 - share), "?")


@cache
def below(n: int, dtype: str = "i4") -> Table:
    """Return the uniform distribution of integers from 0 to n - 1, few of them."""
    return (np.arange(_N_COARSE) * n // _N_COARSE).astype(dtype)


@cache
def poisson(mean: float, most: int, dtype: str = "i4") -> Table:
    """Return the Poisson distribution, cut off at ``most``."""
    cumulated, term = [], math.exp(-mean)
    total = 0.0
    for k in range(most):
        total += term
        cumulated.append(total)
        term *= mean / (k + 1)
    return np.searchsorted(np.array(cumulated), _PROBABILITIES).astype(dtype)


class Lists:
    """How the objects of a collection are spread over the entries of a step, those of each sorted by momentum."""

    def __init__(self, draws: Draws, counts: npt.NDArray[Any]) -> None:
        self.counts = counts.astype(np.int32)
        self.offsets = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(self.counts, out=self.offsets[1:])
        self.n = int(self.offsets[-1])
        entries = np.repeat(np.arange(len(counts), dtype=np.uint64), self.counts)
        # The sort puts the objects of an entry in falling order of their rank, and leaves the entries where they are.
        keys = np.sort((entries << np.uint64(16)) | (np.uint64(_N_FINE - 1) - draws.fine(self.n)))
        #: Places in a table of quantiles.
        self.ranks = (np.uint64(_N_FINE - 1) - (keys & np.uint64(_N_FINE - 1))).astype(np.uint16)
        self.entries = entries.astype(np.int64)

    def first(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the first value of each entry, 0 where there is none."""
        padded = np.append(values, values.dtype.type(0))
        return np.where(self.counts > 0, padded[self.offsets[:-1]], 0)

    def second(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the second value of each entry, 0 where there is none."""
        padded = np.append(values, np.zeros(2, values.dtype))
        return np.where(self.counts > 1, padded[self.offsets[:-1] + 1], 0)


def activity(draws: Draws, n: int) -> npt.NDArray[np.uint8]:
    """Return how much happens in each entry, from 0 to 3: what is in the same entry goes together."""
    quarters: npt.NDArray[np.uint8] = draws.coarse(n) >> np.uint8(6)
    return quarters


def counts_of(
    draws: Draws,
    busy: npt.NDArray[np.uint8],
    mean: float,
    most: int,
    factors: Sequence[float] = (0.5, 0.8, 1.1, 1.6),
) -> npt.NDArray[Any]:
    """Return Poisson numbers of objects, more where the entry is busy."""
    tables = np.stack([poisson(mean * factor, most) for factor in factors])
    return tables[busy, draws.fine(len(busy))]
