"""Layouts that experiments have used, with the source of each value.

The presets of ATLAS are those of "ATLAS ROOT-based data formats" (CHEP 2012). What it does not say is ROOT's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._layout.columns import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping


class Preset(NamedTuple):
    """A layout, and where its values come from."""

    #: The layout that it changes, and the arguments of ``Layout`` that do.
    base: str
    values: Mapping[str, Any]
    #: One sentence.
    what: str
    #: Values and their source.
    sources: tuple[tuple[str, str], ...]


_ATLAS = "ATLAS, CHEP 2012"
_ROOT = "ROOT's default"
_CMSSW = "CMSSW, PhysicsTools/NanoAOD"


#: By name.
_PRESETS = {
    "old-aod": Preset(
        "ttree",
        {
            "split": 99,
            "memberwise": True,
            "lists": "vector",
            "flush": "30 MB",
            "basket_size": "optimized",
            "compression": "zlib:1",
        },
        "objects split to the last member, clusters of 30 MB",
        (
            (
                "split 99, flush 30 MB, optimised baskets, member-wise",
                f"{_ATLAS}: AOD and ESD at the start of 2011",
            ),
            ("lists as vectors", "ATLAS's classes have std::vector members"),
            ("zlib 1", _ROOT),
        ),
    ),
    "aod-2011": Preset(
        "old-aod",
        {"split": {LARGEST: 99, "*": 0}, "flush": 10},
        "one branch for a collection, member-wise, ten entries a cluster; the largest collection stays split",
        (
            ("split 0 but for the largest, member-wise", f"{_ATLAS}: from autumn 2011 on"),
            ("flush 10 entries", f"{_ATLAS}: AOD"),
            ("the others", "as old-aod"),
        ),
    ),
    "esd-2011": Preset(
        "aod-2011",
        {"flush": 5},
        "as aod-2011, five entries a cluster",
        (("flush 5 entries", f"{_ATLAS}: ESD"), ("the others", "as aod-2011")),
    ),
    "d3pd": Preset(
        "ttree",
        {"lists": "vector", "flush": "30 MB", "basket_size": "optimized", "compression": "zlib:6"},
        "flat: a branch for each member, lists as vectors, clusters of 30 MB",
        (
            ("flush 30 MB, zlib 6", f"{_ATLAS}: D3PD, 6 after the tests of 1 and 6"),
            ("optimised baskets", _ROOT),
            ("lists as vectors", "ATLAS's D3PDs have branches of std::vector"),
        ),
    ),
    "nanoaod": Preset(
        "ttree",
        {
            "lists": "counted",
            "counters": "named",
            "flush": "10 MB",
            "basket_size": "optimized",
            "compression": "lzma:9",
            "precision": {"*_eta": "mantissa:12", "*_phi": "mantissa:12", "*_mass": "mantissa:10"},
        },
        "flat: arrays that share a counter, clusters of 10 MB, truncated mantissas",
        (
            ("flush 10 MB, counted arrays", f"{_CMSSW}: NanoAODOutputModule"),
            ("lzma 9", f"{_CMSSW}: compressionAlgorithm and compressionLevel of NANOAODSIM"),
            ("mantissas of 12 and 10 bits", f"{_CMSSW}: P4Vars of common_cff.py"),
            ("optimised baskets", _ROOT),
        ),
    ),
    "nanoaod-rntuple": Preset(
        "rntuple",
        {"records": "named", "projections": "flat"},
        "an RNTuple of records and lists of records, with the flat names as projected fields",
        (
            (
                "lists of records, records of triggers, flags and other tables; flat names projected",
                "CMSSW, PR 51832: NanoAODRNTupleOutputModule",
            ),
            ("counters projected", "so that all names of the flat tree are there"),
            ("the others", "as rntuple"),
        ),
    ),
    "rntuple": Preset(
        "ttree",
        {"format": "rntuple"},
        "an RNTuple as ROOT writes it",
        (("all", "ROOT's defaults, RNTupleWriteOptions (6.40)"),),
    ),
}


def names() -> list[str]:
    """Return the names of the presets."""
    return list(_PRESETS)


def preset(name: str) -> Preset | None:
    """Return a preset, None if there is none of that name."""
    return _PRESETS.get(name)


def document() -> str:
    """Return the table of presets in ``docs/layouts.md``."""
    lines = ["| preset | is | value | from |", "|---|---|---|---|"]
    for name, one in _PRESETS.items():
        for index, (value, source) in enumerate(one.sources):
            what = (f"`{name}`", one.what) if index == 0 else ("", "")
            lines.append(f"| {what[0]} | {what[1]} | {value} | {source} |")
    return "\n".join(lines) + "\n"
