"""The cost of a reading as ROOT's TTreePerfStats has it: written for ROOT to print and draw, and read from it."""

from __future__ import annotations

import math
import platform
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arrowroot._errors import CorruptFileError, InvalidRequestError
from arrowroot._objects.record import Record
from arrowroot._objects.simple import text_of
from arrowroot._writing.calls import create
from arrowroot._writing.records import list_of, named, record_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from arrowroot._api.file import Directory
    from arrowroot._cost.metrics import Measurement, Number
    from arrowroot._cost.plan import Read

    Array = npt.NDArray[np.float64]

CLASS_NAME = "TTreePerfStats"
#: Its name in ROOT's own examples.
NAME = "ioperf"
#: ROOT counts reads and sizes of caches in 32 bits.
_LARGEST = 2**31 - 1
#: No number of bytes, entries or nanoseconds is as large.
_TOO_LARGE = 2.0**63
#: Half the width of a read in entries. Source: ``TTreePerfStats::FileReadEvent`` (ROOT 6.40).
_HALF_WIDTH = 0.001
_RED = 632
#: Letters of the system's name that ROOT keeps.
_SYSTEM_WIDTH = 20


class PerfStat(NamedTuple):
    """A TTreePerfStats that was read."""

    name: str
    #: FILE/TREE, as the graph of its reads is called; "" if there is none.
    title: str
    #: Machine, version and date.
    host: str
    #: By the keys of ``metrics``; None: not known, or a ratio to nothing.
    values: dict[str, Number | None]
    #: Entry, offset and length in bytes of each read, in their order.
    reads: list[tuple[int, int, int]]


def save(path: str, measurement: Measurement, reads: Sequence[Read], title: str, version: str) -> None:
    """Write a file with the TTreePerfStats of a reading, called "ioperf"; a file of that name is replaced.

    ReadUnZip is exact, as what was decompressed is counted; a version of ROOT that multiplies ReadTotal by the mean
    compression gets the factor that gives it.

    Raises: StorageError if it cannot be written.
    """
    with create(path) as file:
        file[NAME] = record(measurement, reads, title, version)


def record(measurement: Measurement, reads: Sequence[Read], title: str, version: str) -> Record:
    """Return a reading as a TTreePerfStats. ``title``: FILE/TREE."""
    stats = measurement.stats
    ordered = sorted(reads, key=lambda read: read[4])
    columns: Array = np.array(ordered, np.float64).reshape(-1, 6).T
    offset, n_bytes, entry, _, start, end = columns
    real_s = measurement.real_ns / 1e9
    megabytes, seconds = offset / 1e6, np.cumsum(end - start) / 1e9
    norm = float(megabytes.max(initial=0.0)) / real_s if real_s else 0.0
    width = np.full(len(ordered), _HALF_WIDTH)
    members = {
        "fUniqueID": 0,
        "fBits": 0,
        "fTreeCacheSize": _count(measurement.tree_cache_bytes or 0),
        "fNleaves": _count(measurement.n_leaves),
        "fReadCalls": _count(stats.read_calls),
        "fReadaheadSize": _count(measurement.readahead_bytes),
        "fBytesRead": stats.read_bytes,
        "fBytesReadExtra": stats.overhead_bytes,
        "fRealNorm": norm,
        "fRealTime": real_s,
        "fCpuTime": measurement.cpu_ns / 1e9,
        "fDiskTime": stats.read_ns / 1e9,
        "fUnzipTime": stats.decompress_ns / 1e9,
        "fUnzipInputSize": stats.stored_bytes,
        "fUnzipObjSize": stats.unzip_bytes,
        "fCompress": stats.unzip_bytes / stats.read_bytes if stats.read_bytes else 0.0,
        "fName": NAME,
        "fHostInfo": f"{platform.platform()[:_SYSTEM_WIDTH]} arrowroot {version} {time.strftime('%Y-%m-%d %H:%M:%S')}",
        "fGraphIO": _graph((NAME, title), (entry, megabytes), (width, n_bytes / 1e9)),
        "fGraphTime": _graph(
            ("iotime", "Real time vs entries"), (entry, norm * seconds), (width, np.zeros(len(ordered))), _RED
        ),
        "fPave": None,
        "fWatch": None,
        "fRealTimeAxis": None,
        "fHostInfoText": None,
        "fBranchIndexCache": {},
        "fBasketsInfo": [],
    }
    return record_of(CLASS_NAME, members)


def _count(number: int) -> int:
    return min(number, _LARGEST)


def _graph(
    named_as: tuple[str, str],
    points: tuple[Array, Array],
    errors: tuple[Array, Array],
    color: int = 1,
) -> Record:
    """Return a graph: name and title, coordinates and their errors, in x and in y."""
    members = named(*named_as) | {
        "fLineColor": color,
        "fLineStyle": 1,
        "fLineWidth": 1,
        "fFillColor": 0,
        "fFillStyle": 1000,
        "fMarkerColor": 1,
        "fMarkerStyle": 1,
        "fMarkerSize": 1.0,
        "fNpoints": len(points[0]),
        "fX": points[0],
        "fY": points[1],
        "fFunctions": list_of("TList", []),
        "fHistogram": None,
        "fMinimum": -1111.0,
        "fMaximum": -1111.0,
        "fOption": "",
        "fEX": errors[0],
        "fEY": errors[1],
    }
    return record_of("TGraphErrors", members, ("TGraph", "TNamed"))


def find(file: Directory, name: str | None) -> PerfStat:
    """Return the TTreePerfStats of a file, by its name or the only one.

    Raises: InvalidRequestError if there is none, or several and no name.
    """
    if name is None:
        names = [key.path for key in file.key_list(cycles=False) if key.class_name == CLASS_NAME]
        if len(names) != 1:
            what = (
                f"several {CLASS_NAME}: {', '.join(names)}; name one, as FILE:NAME"
                if names
                else f"no {CLASS_NAME}"
            )
            raise InvalidRequestError(f"{file.url} has {what}")
        name = names[0]
    found = file[name]
    if not isinstance(found, Record) or found.class_name != CLASS_NAME:
        kind = getattr(found, "class_name", type(found).__name__)
        raise InvalidRequestError(f"{file.url}: {name!r} is a {kind}, not a {CLASS_NAME}")
    return of_record(found, f"{file.url}: {name}")


def of_record(found: Record, where: str) -> PerfStat:
    """Return what a TTreePerfStats says; ReadUnZip is the exact number where it has one, not ROOT's estimate.

    Raises: CorruptFileError, which names ``where``, if members are missing that every version has, or are not finite.
    """
    number = partial(_number, found, where)
    read_bytes, calls = number("fBytesRead"), number("fReadCalls")
    real_ns, cpu_ns, disk_ns = (number(name, 1e9) for name in ("fRealTime", "fCpuTime", "fDiskTime"))
    unzip_bytes: Number | None = number("fUnzipObjSize") if found.get("fUnzipObjSize") else None
    # ROOT divides by the bytes of baskets, also if there are none.
    if unzip_bytes is None and not math.isnan(found.number_of("fCompress")):
        unzip_bytes = number("fCompress", read_bytes)
    unzip_per_ns = None if unzip_bytes is None else 1e9 * unzip_bytes
    values: dict[str, Number | None] = {
        "tree_cache_bytes": number("fTreeCacheSize") or None,
        "n_leaves": number("fNleaves"),
        "read_total_bytes": read_bytes,
        "read_unzip_bytes": None if unzip_bytes is None else round(unzip_bytes),
        "read_calls": calls,
        "read_size_bytes": _over(read_bytes, calls),
        "readahead_bytes": number("fReadaheadSize"),
        "read_extra_percent": _over(100 * number("fBytesReadExtra"), read_bytes),
        "real_time_ns": round(real_ns),
        "cpu_time_ns": round(cpu_ns),
        "disk_time_ns": round(disk_ns),
        "disk_io_bytes_per_s": _over(1e9 * read_bytes, disk_ns),
        "read_unzip_real_bytes_per_s": _over(unzip_per_ns, real_ns),
        "read_unzip_cpu_bytes_per_s": _over(unzip_per_ns, cpu_ns),
        "read_real_bytes_per_s": _over(1e9 * read_bytes, real_ns),
        "read_cpu_bytes_per_s": _over(1e9 * read_bytes, cpu_ns),
        "decompress_ns": round(number("fUnzipTime", 1e9)) or None if "fUnzipTime" in found else None,
        "cpu_efficiency_percent": _over(100 * cpu_ns, real_ns),
    }
    graph = found.get("fGraphIO")
    reads: list[tuple[int, int, int]] = []
    title = ""
    if isinstance(graph, Record):
        title = text_of(graph.get("fTitle"))
        reads = _reads(graph, where)
    return PerfStat(text_of(found.get("fName")), title, text_of(found.get("fHostInfo")), values, reads)


def _number(record: Record, where: str, name: str, factor: float = 1) -> Number:
    """Return a member times a factor. Raises: CorruptFileError if that is not finite, or too large for what it is."""
    value = record.number_of(name)
    if not abs(value * factor) < _TOO_LARGE:
        raise CorruptFileError(f"{where}: {name} is {value}")
    return value * factor


def _reads(graph: Record, where: str) -> list[tuple[int, int, int]]:
    """Return entry, offset and length in bytes of each read. Raises: CorruptFileError for what is not finite."""
    n_points = max(0, int(_number(graph, where, "fNpoints")))
    columns = []
    for name, factor in (("fX", 1), ("fY", 1e6), ("fEY", 1e9)):
        array = graph.array_of(name)[:n_points]
        if not np.all(np.abs(array) < _TOO_LARGE / factor):
            raise CorruptFileError(
                f"{where}: {name} of fGraphIO has a value that is no number of entries or bytes"
            )
        columns.append((array * factor).tolist())
    return [
        (round(entry), round(offset), round(n_bytes))
        for entry, offset, n_bytes in zip(*columns, strict=False)
    ]


def _over(part: Number | None, whole: Number) -> float | None:
    return part / whole if whole and part is not None else None
