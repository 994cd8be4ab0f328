"""Entries like those of CMS's NanoAOD: counters, lists of numbers, and hundreds of trigger bits."""

from __future__ import annotations

import re
from functools import cache
from math import pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot._sample import draws as of
from arrowroot._sample.columns import batch_of, list_of, plain
from arrowroot._sample.nanoaod_names import FLAGS, SCALARS, TRIGGERS, VECTORS, names_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._sample.draws import Draws, Table

TREE = "Events"
#: Bytes of an entry in a file, compressed with zstd 5: measured with 158,000 entries.
STORED_BYTES = 2065.0


class Collection(NamedTuple):
    """The objects of a kind in an entry."""

    mean: float
    most: int
    #: Least transverse momentum in GeV, and how it falls.
    pt: tuple[float, float]
    #: Width of the pseudorapidities, and their limit.
    eta: tuple[float, float]
    #: In GeV: one value of all, or how it falls from 0.
    mass: float | tuple[float]


COLLECTIONS = {
    "CorrT1METJet": Collection(3.0, 24, (10, 4), (2.4, 5.2), 0),
    "Electron": Collection(0.8, 8, (5, 18), (1.3, 2.5), (0.02,)),
    "FatJet": Collection(0.6, 6, (170, 90), (1.1, 2.5), (45.0,)),
    "FsrPhoton": Collection(0.1, 4, (2, 6), (1.3, 2.4), 0),
    "GenJetAK8": Collection(0.9, 8, (80, 90), (1.4, 5.0), (40.0,)),
    "GenJet": Collection(6.0, 26, (10, 25), (2.0, 5.0), (7.0,)),
    "GenPart": Collection(28.0, 120, (0, 28), (2.5, 9.0), (1.2,)),
    "GenVisTau": Collection(0.2, 4, (10, 20), (1.3, 2.5), (0.9,)),
    "Jet": Collection(5.5, 28, (15, 32), (1.8, 4.7), (8.0,)),
    "LHEPart": Collection(6.0, 10, (0, 60), (1.8, 6.0), 0),
    "Muon": Collection(0.9, 10, (3, 16), (1.2, 2.4), 0.105712890625),
    "Photon": Collection(1.1, 9, (5, 14), (1.3, 2.5), 0),
    "GenDressedLepton": Collection(0.5, 4, (15, 25), (1.2, 2.5), 0.10565185546875),
    "GenIsolatedPhoton": Collection(0.2, 4, (15, 20), (1.2, 2.5), 0),
    "SoftActivityJet": Collection(4.0, 6, (1, 5), (1.6, 4.9), 0),
    "SV": Collection(1.2, 14, (2, 14), (1.1, 2.4), (1.6,)),
    "Tau": Collection(0.6, 8, (18, 22), (1.2, 2.3), (0.9,)),
    "TrigObj": Collection(7.0, 40, (8, 24), (1.6, 5.0), 0),
    "IsoTrack": Collection(0.5, 8, (10, 12), (1.2, 2.5), 0),
}
#: Lists of weights, all of one length in every entry.
WEIGHTS = {"LHEPdfWeight": 33, "LHEScaleWeight": 9, "PSWeight": 4}


@cache
def _kinds() -> dict[str, Table]:
    """Return the distributions of what the names of members say, by the kinds of ``nanoaod_names``."""
    return {
        "score": of.power(3.0, 8),
        "signed": of.uniform(-1, 1, 10),
        "default": of.mostly(-1.0, 0.7, of.uniform, 0.0, 1.0, 6),
        "isolation": of.mostly(0.0, 0.3, of.falling, 0.0, 0.12, 10),
        "impact": of.peaked(0.012, 10),
        "significance": of.falling(0.0, 2.5, 8),
        "error": of.falling(0.001, 0.004, 8),
        "energy": of.falling(0.0, 3.0, 10),
        "large": of.falling(0.0, 90.0, 10),
        "fraction": of.mostly(0.0, 0.25, of.power, 1.5, 8),
        "ratio": of.normal(1.0, 0.08, 0.5, 10),
        "small": of.normal(0.0, 0.01, 0.1, 10),
        "width": of.normal(0.011, 0.003, 0.01, 10),
        "area": of.normal(0.5, 0.02, 0.2, 8),
        "angle": of.uniform(-pi, pi, 10),
        "position": of.normal(0.0, 3.5, 20.0, 12),
        "charge": of.one_of((-1, 1), (1, 1)),
        "index": of.one_of((-1, 0, 1, 2, 3, 4), (60, 20, 10, 6, 3, 1)),
        "mother": of.one_of((-1, 0, 2, 4, 5, 8, 11, 15, 21), (2, 20, 15, 15, 12, 12, 10, 8, 6)),
        "count": of.one_of((0, 1, 2, 3), (75, 18, 5, 2)),
        "constituents": of.one_of(tuple(range(2, 42)), tuple(1.0 for _ in range(40)), "u1"),
        "byte": of.one_of((0, 1, 2, 3, 5), (60, 15, 12, 8, 5), "u1"),
        "level": of.one_of((0, 1, 2, 3, 4), (20, 15, 15, 20, 30)),
        "level8": of.one_of((0, 1, 3, 7, 15), (20, 15, 15, 20, 30), "u1"),
        "bitmap": of.one_of((0x1FF, 0x3FFFF, 0x7FFFFFF, 0x3FFFFFFF, 0x12492492), (10, 20, 30, 35, 5)),
        "gen": of.one_of((0, 1, 3, 4, 5, 15), (25, 40, 5, 10, 15, 5), "u1"),
        "flavour": of.one_of((0, 1, -1, 2, -2, 3, 4, 5, -5, 21), (30, 6, 5, 7, 5, 4, 6, 9, 8, 20)),
        "flavour8": of.one_of((0, 4, 5), (75, 10, 15), "u1"),
        "lepton": of.one_of((-13, 13, -11, 11), (1, 1, 1, 1)),
        "particle": of.one_of(
            (21, 2, -2, 1, 5, -5, 24, -24, 13, -13, 22, 111), (30, 8, 6, 8, 6, 6, 6, 6, 4, 4, 8, 8)
        ),
        "status": of.one_of((1, 2, 21, 22, 23, 44, 62, 71), (45, 12, 6, 8, 8, 8, 6, 7)),
        "code": of.one_of((0, 1, 2, 5, 6, 10, 11), (20, 30, 5, 5, 2, 18, 20)),
        "steps": of.below(7),
        "yes": of.flag(0.97),
        "often": of.flag(0.8),
        "half": of.flag(0.5),
        "rarely": of.flag(0.1),
        "one": of.one_of((1,), (1,), "f4"),
        "zero": of.one_of((0,), (1,)),
        "pileup": of.poisson(32.0, 90),
        "vertices": of.poisson(24.0, 70),
        "weight": of.normal(1.0, 0.15, 0.9, 14),
    }


def entries(seed: int, step: int, n: int) -> pa.RecordBatch:
    """Return the entries of one step of the sample."""
    draws = of.Draws(seed, step)
    first = step * n
    columns: dict[str, Any] = {}
    numbers = np.arange(first, first + n, dtype=np.uint64)
    columns["run"] = (1 + numbers // np.uint64(100_000)).astype(np.uint32)
    columns["luminosityBlock"] = (1 + numbers // np.uint64(500)).astype(np.uint32)
    columns["event"] = (
        np.uint64(1_000_000) + numbers * np.uint64(3) + (draws.coarse(n) % np.uint8(3)).astype(np.uint64)
    )
    busy = of.activity(draws, n)
    made: dict[str, pa.Array] = {name: plain(values) for name, values in columns.items()}
    seen: dict[str, npt.NDArray[Any]] = {}
    for name, collection in COLLECTIONS.items():
        made |= _objects(draws, busy, name, collection, seen)
    for name, length in WEIGHTS.items():
        made[f"n{name}"] = plain(np.full(n, length, np.int32))
        offsets = np.arange(0, (n + 1) * length, length, dtype=np.int32)
        made[name] = list_of(offsets, draws.of(_kinds()["weight"], n * length))
    made |= _scalars(draws, n, seen)
    made |= _triggers(draws, n, seen)
    return batch_of(made)


def _objects(
    draws: Draws,
    busy: npt.NDArray[np.uint8],
    name: str,
    collection: Collection,
    seen: dict[str, npt.NDArray[Any]],
) -> dict[str, pa.Array]:
    lists = of.Lists(draws, of.counts_of(draws, busy, collection.mean, collection.most))
    pt = of.falling(*collection.pt)[lists.ranks]
    if name in ("Muon", "Electron", "Photon", "Jet", "Tau"):
        seen[name], seen[f"{name}2"] = lists.first(pt), lists.second(pt)
    if name == "Jet":
        # In whole numbers: a sum of floats depends on the order, which is the processor's.
        sums = np.bincount(lists.entries, pt.astype(np.int64), len(busy))
        seen["HT"] = sums.astype(np.float32)
    values: dict[str, npt.NDArray[Any]] = {
        "pt": pt,
        "eta": draws.of(of.normal(0.0, *collection.eta), lists.n),
        "phi": draws.of(of.uniform(-pi, pi), lists.n),
    }
    if isinstance(collection.mass, tuple):
        values["mass"] = draws.of(of.falling(0.0, *collection.mass), lists.n)
    else:
        values["mass"] = np.full(lists.n, collection.mass, np.float32)
    # How good each object is: the working points of its identifications go together.
    quality = draws.coarse(lists.n)
    for kind, members in VECTORS[name].items():
        for member in members.split():
            if kind.startswith("good"):
                values[member] = quality < int(256 * float(kind[4:]))
            elif kind != "none":
                values[member] = draws.of(_kinds()[kind], lists.n)
    left_out = set(VECTORS[name].get("none", "").split())
    made = {f"n{name}": plain(lists.counts)}
    made |= {
        f"{name}_{member}": list_of(lists.offsets, array)
        for member, array in values.items()
        if member not in left_out
    }
    return made


def _scalars(draws: Draws, n: int, seen: dict[str, npt.NDArray[Any]]) -> dict[str, pa.Array]:
    made = {}
    # One transverse momentum is missing, however it is computed.
    missing = draws.of(of.falling(0.0, 32.0), n)
    direction = draws.of(of.uniform(-pi, pi), n)
    total = of.truncated(seen["HT"] + draws.of(of.falling(150.0, 300.0), n), 10)
    seen["MET"] = missing
    for group, kinds in SCALARS.items():
        for kind, members in kinds.items():
            for member in members.split():
                if kind == "missing":
                    values = of.truncated(missing * draws.of(of.normal(1.0, 0.05, 0.3), n), 10)
                elif kind == "direction":
                    values = of.truncated(direction + draws.of(of.normal(0.0, 0.03, 0.1), n), 10)
                elif kind == "total":
                    values = of.truncated(total * draws.of(of.normal(1.0, 0.05, 0.3), n), 10)
                else:
                    values = draws.of(_kinds()[kind], n)
                made[f"{group}_{member}" if group and member != "-" else group or member] = plain(values)
    for name in FLAGS.split():
        made[f"Flag_{name}"] = plain(draws.of(_kinds()["yes"], n))
    return made


def _triggers(draws: Draws, n: int, seen: dict[str, npt.NDArray[Any]]) -> dict[str, pa.Array]:
    """Return the bits: what a path asks for must be there, and few of them see all that has it."""
    made = {"HLTriggerFirstPath": plain(np.zeros(n, bool))}
    for paths, what, scale in TRIGGERS:
        observed = seen[what]
        for path in names_of(paths):
            number = re.search(r"\d+", path)
            threshold = np.float32(scale * (float(number[0]) if number else 20.0))
            # Paths of low thresholds are prescaled: of what they accept, one in so many is kept.
            chance = 243 if threshold > 40 else 24
            made[f"HLT_{path}"] = plain((observed > threshold) & (draws.coarse(n) < chance))
    made["HLTriggerFinalPath"] = plain(np.zeros(n, bool))
    return made
