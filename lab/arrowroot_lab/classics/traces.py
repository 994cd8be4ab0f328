"""Synthetic traces: what a job needs of a file, in the form that ``arrowroot replay`` takes (docs/remote.md)."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: Takes a trace, and as options its order, its protocol and its name.
    Written = Callable[..., Path]

FORM = "arrowroot.trace/2"
Numbers = npt.NDArray[np.int64]

_CHECKSUM = b"arrowroot-sha256:"
_N_DIGITS = 64
#: The checksum stands near the end of the file.
_TAIL_BYTES = 64 << 10


@dataclass(frozen=True)
class Trace:
    """The baskets that a job needs, in the order of need. Each array has one number for each of them."""

    offsets: Numbers
    #: Of baskets, in bytes.
    sizes: Numbers
    first_entries: Numbers
    branches: Numbers
    file_bytes: int
    n_entries: int
    #: CPU time of the job; shared evenly by its baskets.
    work_ns: int = 0

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def asked_bytes(self) -> int:
        """Bytes of all baskets that are needed."""
        return int(self.sizes.sum())

    def in_file_order(self, n_clusters: int = 1) -> Trace:
        """Return the same baskets as they lie in the file, cluster after cluster.

        ``n_clusters``: of equally many entries each; with one, they lie as they were written.
        """
        clusters = self.first_entries * n_clusters // max(self.n_entries, 1)
        order = np.lexsort((self.offsets, clusters))
        columns = ("offsets", "sizes", "first_entries", "branches")
        return replace(self, **{name: getattr(self, name)[order] for name in columns})


#: A store that takes up to 1,024 ranges in a request, as that of a local file.
PLAIN: dict[str, Any] = {"name": "plain", "max_parallel": 1}
#: One that takes as many ranges in a request as anybody asks for.
UNBOUNDED: dict[str, Any] = {
    "name": "xrootd", "max_range_bytes": 1 << 31, "max_ranges": 1 << 16, "max_bytes": 1 << 40,
}  # fmt: skip


def write(
    path: Path, trace: Trace, what: str, order: str = "entry", protocol: dict[str, Any] | None = None
) -> None:
    """Write a trace as an Arrow file.

    what: shown in the place of a URL. protocol: how the store makes requests; None: ``PLAIN``.
    """
    import pyarrow as pa

    n = len(trace)
    shares = np.arange(n + 1, dtype=np.float64) / max(n, 1)
    work = np.diff((shares * trace.work_ns).round().astype(np.int64))
    n_branches = int(trace.branches.max()) + 1 if n else 0

    def always(text: str) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([text]))

    def numbers(values: Numbers) -> pa.Array:
        return pa.array(values.astype(np.uint64))

    names = pa.array([f"b{i}" for i in range(n_branches)], type=pa.string())
    columns: list[tuple[str, Any, bool]] = [
        ("kind", always("logical"), False),
        ("layer", always("engine"), False),
        ("operation", always("basket"), False),
        ("request", pa.nulls(n, pa.uint64()), True),
        ("branch", pa.DictionaryArray.from_arrays(pa.array(trace.branches.astype(np.int32)), names), True),
        ("first_entry", numbers(trace.first_entries), True),
        ("offset", numbers(trace.offsets), False),
        ("n_bytes", numbers(trace.sizes), False),
        ("start_ns", numbers(np.zeros(n, np.int64)), False),
        ("end_ns", pa.nulls(n, pa.uint64()), True),
        ("decode_ns", numbers(work), True),
    ]
    metadata = {
        "form": FORM,
        "url": what,
        "tree": "events",
        "file_bytes": trace.file_bytes,
        "n_entries": trace.n_entries,
        "n_threads": 1,
        "filter": None,
        "order": order,
        "entries": {"begin": 0, "end": trace.n_entries, "picked": False},
        "protocol": protocol or PLAIN,
    }
    schema = pa.schema(
        [pa.field(key, array.type, nullable=nullable) for key, array, nullable in columns],
        metadata={
            b"arrowroot": json.dumps(metadata).encode(),
            b"arrowroot.checksum": _CHECKSUM + b"0" * _N_DIGITS,
        },
    )
    table = pa.Table.from_arrays([array for _, array, _ in columns], schema=schema)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(table)
    _sign(path)


@contextmanager
def folder(what: str) -> Iterator[Written]:
    """Yield what writes a trace to a file and returns its path; one of the same name takes its place.

    what: shown in the place of a URL.
    """
    with tempfile.TemporaryDirectory(prefix="arrowroot-lab-") as directory:

        def written(
            trace: Trace, order: str = "entry", protocol: dict[str, Any] | None = None, name: str = "job"
        ) -> Path:
            path = Path(directory) / f"{name}.arrow"
            write(path, trace, what, order, protocol)
            return path

        yield written


def _sign(path: Path) -> None:
    """Write the checksum of the file, with zeros in its place, in the place of the zeros."""
    content = path.read_bytes()
    first = max(0, len(content) - _TAIL_BYTES)
    places = [found.end() for found in re.finditer(_CHECKSUM + b"0" * _N_DIGITS, content[first:])]
    digest = hashlib.sha256(content).hexdigest().encode()
    # In a short file there are two copies of the metadata: the last one counts, and the first stays as it is.
    with path.open("r+b") as file:
        file.seek(first + places[-1] - _N_DIGITS)
        file.write(digest)
