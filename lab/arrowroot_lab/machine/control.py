"""The control kernel: a piece of work that never changes. If it takes longer, the machine has changed."""

from __future__ import annotations

import time
import zlib
from functools import cache

#: Bytes that it compresses: half a second's worth would delay a campaign, a millisecond's would be noise.
N_BYTES = 1 << 20


def control_ns() -> int:
    """Return the CPU time of the control kernel: compressing one MiB, of the same bytes each time.

    CPU time of this thread: what other programs take of the core by turns is seen as load, what they take of its
    caches and its clock is seen here.
    """
    data = _data()
    start = time.thread_time_ns()
    zlib.compress(data, 6)
    return time.thread_time_ns() - start


@cache
def _data() -> bytes:
    """A MiB that compresses as event data do: numbers of a fixed generator, few of whose bits are random."""
    words = bytearray()
    state = 1
    for _ in range(N_BYTES // 4):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        words += (0x40000000 | (state >> 18)).to_bytes(4, "little")
    return bytes(words)
