"""The eight queries of the IRIS-HEP analysis description benchmarks: what each of them asks, and its histograms.

https://github.com/iris-hep/adl-benchmarks-index, with the axes that its implementations have in common.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MASK = (1 << 64) - 1


class Axis(NamedTuple):
    """Bins of equal width."""

    n: int
    low: float
    high: float


#: Query -> name -> axis.
AXES = {
    # Missing transverse momentum of all events.
    1: {"MET": Axis(100, 0, 200)},
    # Transverse momentum of all jets.
    2: {"pt": Axis(100, 15, 60)},
    # The same of jets with |eta| < 1.
    3: {"pt": Axis(100, 15, 60)},
    # Missing transverse momentum of events with at least two jets above 40 GeV.
    4: {"MET": Axis(100, 0, 200)},
    # The same of events with an opposite-charge pair of muons of 60 to 120 GeV.
    5: {"MET": Axis(100, 0, 200)},
    # Transverse momentum of the three jets whose mass is nearest to 172.5 GeV, and their greatest b-tag.
    6: {"pt": Axis(100, 15, 40), "btag": Axis(100, 0, 1)},
    # Sum of transverse momenta of jets above 30 GeV that are not within 0.4 of a lepton above 10 GeV.
    7: {"sum": Axis(100, 15, 200)},
    # Transverse mass of the missing momentum and the hardest lepton outside of the pair nearest to 91.2 GeV.
    8: {"mass": Axis(100, 0, 250)},
}
TOP_MASS, Z_MASS = 172.5, 91.2
BTAG = "Jet_btagCSVV2"


def filled(values: Any, axis: Axis) -> npt.NDArray[np.int64]:
    """Return the counts of values, ``n + 2`` of them, by the arithmetic of ROOT's ``TAxis``: edges fall as there."""
    import numpy as np

    places = (np.asarray(values, np.float64) - axis.low) * axis.n / (axis.high - axis.low)
    bins = np.clip(np.floor(places), -1, axis.n).astype(np.int64) + 1
    return np.bincount(bins, minlength=axis.n + 2)


def checksum(counts: list[int]) -> dict[str, int | str]:
    """Return the checksum of a histogram, bin by bin, as campaigns/METHODOLOGY.md has those of columns.

    Of each bin it takes a hash: counts themselves would let entries move to both sides, and have the same sums.
    """
    hashes = [int.from_bytes(blake2b(b"%d" % count, digest_size=8).digest(), "little") for count in counts]
    order = sum((place + 1) * one for place, one in enumerate(hashes)) & MASK
    return {"n": len(counts), "sum": f"{sum(hashes) & MASK:016x}", "order": f"{order:016x}"}
