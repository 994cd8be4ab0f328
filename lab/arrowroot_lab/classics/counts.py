"""The counts of real results of a classic: what was asked of the storage."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.documents import Sample


def counts_of(samples: Sequence[Sample]) -> Row:
    """Return the requests, vector reads among them, and the bytes: the low medians of the samples."""
    told = [sample.counters.get("store", {}) for sample in samples]
    return {
        "n_requests": statistics.median_low(
            one.get("n_reads", 0) + one.get("n_vector_reads", 0) for one in told
        ),
        "read_bytes": statistics.median_low(one.get("n_bytes", 0) for one in told),
    }
