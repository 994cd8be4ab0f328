"""The trace of a read as a result keeps it: where in the file, and when, was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

#: So many reads of a trace are kept at most: a picture shows no more, and a document stays small.
MAX_READS = 1000


def reads_of(trace: Path) -> dict[str, Any] | None:
    """Return the physical reads of a trace as documents have them; None if it is none, or has no reads.

    Args:
        trace: a file in Parquet that a runner has written
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if trace.suffix != ".parquet" or not trace.is_file():
        return None
    try:
        table = pq.read_table(
            trace, columns=["kind", "first_entry", "offset", "n_bytes", "start_ns", "end_ns"]
        )
    except (pa.ArrowInvalid, KeyError, OSError):
        return None  # the trace is for the prediction, which says what is wrong with it
    table = table.filter(pc.equal(table["kind"].cast(pa.string()), "physical")).sort_by("start_ns")
    n_reads = table.num_rows
    if n_reads == 0:
        return None
    n_kept = min(n_reads, MAX_READS)
    kept = table.take([place * n_reads // n_kept for place in range(n_kept)])
    begin_ns = table["start_ns"][0].as_py()
    ends = [
        max((start if end is None else end) - begin_ns, 0)
        for start, end in zip(kept["start_ns"].to_pylist(), kept["end_ns"].to_pylist(), strict=True)
    ]
    return {
        "n_reads": n_reads,
        "entries": kept["first_entry"].to_pylist(),
        "offsets": kept["offset"].to_pylist(),
        "n_bytes": kept["n_bytes"].to_pylist(),
        "end_ns": ends,
    }
