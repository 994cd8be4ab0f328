"""What is measured, and the target for each measure."""

from __future__ import annotations

from dataclasses import dataclass

#: Codecs whose decompression is slow enough to be the limit; for the others memory is.
SLOW_CODECS = ("zstd", "zlib", "lzma")
FAST_CODEC_TARGET = 1.5
SELECTED_ENTRIES_TARGET = 1.15
TWO_THREADS_TARGET = 1.8
IMPORT_MS_TARGET = 60
LS_MS_TARGET = 150
SCAN_MEMORY_ALLOWANCE_MB = 100
ACCOUNTING_PERCENT_TARGET = 1.0
#: Time to open a file and list its branches, in a warm process: up to so many branches, so many ms.
OPEN_MS_TARGETS = ((947, 3.0), (1802, 6.0))


@dataclass(frozen=True)
class Case:
    """A case of the kit's ``read``."""

    name: str
    columns: str
    target: float  # CPU time over the limit, for the slow codecs


CASES = [
    Case("flat:s10", "10 flat", 1.15),
    Case("flat:j10", "10 jagged", 1.25),
    Case("flat:c2", "1 flat, 1 jagged", 1.25),
    Case("flat:mix_el1", "10 flat, 10 jagged, 1% of the entries", SELECTED_ENTRIES_TARGET),
    Case("flat:all", "60 flat, 40 jagged", 1.25),
    Case("nano:s10", "10 flat", 1.15),
    Case("nano:j10", "10 jagged", 1.25),
    Case("nano:c2", "19 flat and jagged", 1.25),
    Case("nano:mix_el1", "10 flat, 10 jagged, 1% of the entries", SELECTED_ENTRIES_TARGET),
    Case("nano:all", "all 947", 1.3),
]
BY_NAME = {case.name: case for case in CASES}


@dataclass(frozen=True)
class Group:
    """One call of the kit: a set of files and who reads them."""

    set_name: str  # of the kit's data; "" is the one of the chosen scale
    codecs: tuple[str, ...]
    cases: tuple[str, ...]
    peers: tuple[str, ...]


ALL_CASES = tuple(case.name for case in CASES)
#: What the README shows of them.
MAIN_CASES = ("flat:s10", "flat:j10", "flat:mix_el1", "nano:all")
#: For ZSTD all fast ways to read a TTree with ROOT or uproot take part; for other codecs not the slowest.
GROUPS = [
    Group("", ("zstd",), ALL_CASES, ("root-ttreereader", "root-branchentry", "root-bulk", "uproot-ak")),
    Group("", ("zlib", "lz4", "none"), ALL_CASES, ("root-branchentry", "root-bulk", "uproot-ak")),
    Group("lzma-small", ("lzma",), ALL_CASES, ("root-branchentry", "root-bulk", "uproot-ak")),
]
LZMA_SCALE = 0.05


def cpu_target(codec: str, case: str) -> float:
    """The most that CPU time over the limit may be."""
    known = BY_NAME[case].target
    return known if codec in SLOW_CODECS else max(known, FAST_CODEC_TARGET)


def open_target_ms(n_branches: int) -> float | None:
    """The most that opening may take; None beyond what has a target."""
    return next((ms for most, ms in OPEN_MS_TARGETS if n_branches <= most), None)
