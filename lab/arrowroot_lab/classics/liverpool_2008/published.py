"""Liverpool 2008: the file and the job that are made of the published figures."""

from __future__ import annotations

import numpy as np

from arrowroot_lab.classics.traces import Numbers, Trace

KIB, MIB = 1 << 10, 1 << 20


#: Ours, fitted by hand: the layout to the volumes, the rest to the CPU shares.
CPU_NS, LATENCY_NS, BYTES_PER_S = 230_000_000_000, 920_000, 125e6
N_EVENTS, FILE_BYTES, COMPRESSION = 10_000, 1_530_000_000, 5.0
N_BRANCHES, BASKET_BYTES, READ_SHARE, SPREAD = 900, 32_000, 0.45, 0.5
#: Of a key, and what compression leaves of any basket.
_KEY_BYTES = 80


def job(
    *,
    n_branches: int = N_BRANCHES,
    basket_bytes: int = BASKET_BYTES,
    file_bytes: int = FILE_BYTES,
    n_events: int = N_EVENTS,
    cluster_bytes: int | None = None,
    seed: int = 1,
) -> Trace:
    """A job that reads 45 % of the branches of a file event by event.

    Branches fill their baskets at rates that differ (log-normal, ``SPREAD``). Without ``cluster_bytes`` a basket is
    written when it is full; with it, all are written whenever so many compressed bytes have come together.
    """
    generator = np.random.default_rng(seed)
    weights = generator.lognormal(0.0, SPREAD, n_branches)
    rates = weights / weights.sum() * file_bytes * COMPRESSION / n_events
    flushes = np.array([n_events])
    if cluster_bytes is not None:
        step = max(1, round(cluster_bytes / file_bytes * n_events))
        flushes = np.unique(np.append(np.arange(step, n_events, step), n_events))
    ends, firsts, branches = [], [], []
    for branch, rate in enumerate(rates):
        last = _ends(basket_bytes / rate, flushes)
        ends.append(last)
        firsts.append(np.concatenate([[0], last[:-1]]))
        branches.append(np.full(len(last), branch))
    end, first, branch_of = (np.concatenate(parts) for parts in (ends, firsts, branches))
    stored = (end - first) * rates[branch_of] / COMPRESSION * generator.lognormal(0.0, 0.1, len(end))
    sizes = stored.astype(np.int64) + _KEY_BYTES
    written = np.lexsort((branch_of, end))
    offsets = np.empty(len(sizes), np.int64)
    offsets[written] = np.concatenate([[0], np.cumsum(sizes[written])[:-1]])
    chosen = generator.permutation(n_branches)[: round(n_branches * READ_SHARE)]
    asked = np.flatnonzero(np.isin(branch_of, chosen))
    needed = asked[np.lexsort((branch_of[asked], first[asked]))]
    work_ns = round(CPU_NS * n_events / N_EVENTS)
    return Trace(
        offsets[needed], sizes[needed], first[needed], branch_of[needed], int(sizes.sum()), n_events, work_ns
    )


def _ends(entries_of_basket: float, flushes: Numbers) -> Numbers:
    """Behind which entries the baskets of a branch end: when they are full, and at each flush."""
    ends = []
    begin = 0
    for flush in flushes:
        n_full = int((flush - begin) / entries_of_basket) + 1
        full = begin + np.ceil(np.arange(1, n_full + 1) * entries_of_basket).astype(np.int64)
        ends.append(np.unique(np.minimum(full, flush)))
        begin = int(flush)
    last = np.unique(np.concatenate(ends))
    return last if last[-1] == flushes[-1] else np.append(last, flushes[-1])


def span_bytes(trace: Trace) -> int:
    """How far what one event needs lies apart: the median over events, from the first basket in hand to the last."""
    spans: list[int] = []
    hand_offsets: dict[int, int] = {}
    place = 0
    starts = np.unique(trace.first_entries)
    for start in starts:
        while place < len(trace) and trace.first_entries[place] <= start:
            hand_offsets[int(trace.branches[place])] = int(trace.offsets[place])
            place += 1
        if start and len(spans) < len(starts):
            offsets = hand_offsets.values()
            spans.append(max(offsets) - min(offsets))
    return int(np.median(spans)) if spans else 0


def only_the_beginning(trace: Trace, buffer_bytes: int) -> int:
    """Bytes that move if only the first ``buffer_bytes`` of the file are buffered, and all else is read when needed."""
    ends = trace.offsets + trace.sizes
    beyond = np.maximum(ends - np.maximum(trace.offsets, buffer_bytes), 0)
    return int(beyond.sum()) + min(buffer_bytes, trace.file_bytes)


def blocks_least_recently_used(trace: Trace, block_bytes: int, n_blocks: int) -> int:
    """Bytes that move if a buffer is made of blocks, of which those that were used last stay."""
    from collections import OrderedDict

    held: OrderedDict[int, None] = OrderedDict()
    n_read = 0
    for offset, size in zip(trace.offsets.tolist(), trace.sizes.tolist(), strict=True):
        for block in range(offset // block_bytes, (offset + size - 1) // block_bytes + 1):
            if block in held:
                held.move_to_end(block)
                continue
            n_read += min(block_bytes, trace.file_bytes - block * block_bytes)
            held[block] = None
            if len(held) > n_blocks:
                held.popitem(last=False)
    return n_read
