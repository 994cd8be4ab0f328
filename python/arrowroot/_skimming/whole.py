"""Clusters all of whose entries an output wants: they are copied packed, and not decoded."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arrowroot._passes.first_pass import Evaluated, taken
from arrowroot._skimming.flow import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arrowroot._skimming.flow import Flow, Mask

#: The entries of a cluster: the first, and the one after the last.
Span = tuple[int, int]


class Whole(NamedTuple):
    """A cluster that is to be copied."""

    span: Span
    #: The number of the output that it goes to; None: all of them.
    output: int | None


def within(spans: Sequence[Span], entries: Span) -> list[Span]:
    """Return the clusters that are in a range of entries as a whole."""
    return [span for span in spans if entries[0] <= span[0] and span[1] <= entries[1]]


class Aside:
    """Takes clusters that an output wants as a whole out of what a filter has selected, before that is read.

    The rest is delivered in its order. Before each batch its user asks which clusters come before.
    """

    def __init__(self, flow: Flow, spans: Sequence[Span], entries: Span) -> None:
        """``spans``: clusters that can be copied, in order, all in the range of entries that is looked at."""
        self._flow = flow
        self._first = entries[0]
        self._spans = deque((start - self._first, end - self._first) for start, end in spans)
        #: Clusters that were taken out, and how many of the other selected entries come before each.
        self._whole: deque[tuple[int, Whole]] = deque()
        #: As of the flow, of the other entries.
        self._waiting = Waiting()
        self._n_left = 0
        #: False where the filter's columns are not read before the others.
        self._is_used = False

    def __call__(self, evaluations: Iterator[Evaluated]) -> Iterator[Evaluated]:
        """Return what is left of a first pass, cut where clusters were taken out."""
        self._is_used = True
        return self._without_whole(evaluations)

    def wanted(self, n_entries: int) -> Mask | None:
        """Return which outputs want the next entries that are delivered, as the flow does."""
        if not self._is_used:
            return self._flow.wanted(n_entries)
        return self._waiting.take(n_entries, self._flow.n_outputs) if self._flow.has_waiting else None

    def due(self, n_delivered: int) -> Iterator[Whole]:
        """Yield the clusters that come before the next entry, after so many were delivered."""
        while self._whole and self._whole[0][0] <= n_delivered:
            yield self._whole.popleft()[1]

    def _without_whole(self, evaluations: Iterator[Evaluated]) -> Iterator[Evaluated]:
        # The parts of the cluster that can be copied next, as long as all its entries were selected.
        held: list[Evaluated] = []
        is_lost = False
        low = 0
        for one in evaluations:
            begin, end = low, low + one.n_rows
            while low < end:
                start, stop = self._spans[0] if self._spans else (end, end)
                cut = min(end, start if low < start else stop)
                part = _part(one, begin, low, cut)
                low = cut
                if low <= start:
                    yield self._left(part, self._flow.wanted(len(part.indices)))
                    continue
                is_lost = is_lost or len(part.indices) < part.n_rows
                held.append(part)
                if is_lost or low == stop:
                    yield from self._decided(held, whole=not is_lost)
                    held = []
                if low == stop:
                    self._spans.popleft()
                    is_lost = False

    def _decided(self, parts: list[Evaluated], *, whole: bool) -> Iterator[Evaluated]:
        """Yield what is left of a cluster, or of the part of one that is not whole."""
        wanted = [self._flow.wanted(len(part.indices)) for part in parts]
        masks = [mask for mask in wanted if mask is not None]
        is_of = [True] if not masks else np.logical_and.reduce([mask.all(axis=1) for mask in masks]).tolist()
        if not whole or not any(is_of):
            for part, mask in zip(parts, wanted, strict=True):
                yield self._left(part, mask)
            return
        start, end = self._spans[0]
        span = (start + self._first, end + self._first)
        outputs = [None] if all(is_of) else [number for number, is_whole in enumerate(is_of) if is_whole]
        self._whole.extend((self._n_left, Whole(span, output)) for output in outputs)
        empty = parts[0]._replace(indices=parts[0].indices[:0], rows=parts[0].rows.slice(0, 0))
        yield empty._replace(n_rows=sum(part.n_rows for part in parts), ends_step=True)
        for part, mask in zip(parts, masks, strict=False):
            others = mask & ~np.array(is_of)[:, None]
            rows = np.flatnonzero(others.any(axis=0))
            if len(rows):
                left = Evaluated(0, part.indices[rows], taken(part.rows, rows))
                yield self._left(left, others[:, rows])

    def _left(self, part: Evaluated, wanted: Mask | None) -> Evaluated:
        self._n_left += len(part.indices)
        if wanted is not None:
            self._waiting.add(wanted)
        return part


def _part(one: Evaluated, begin: int, low: int, high: int) -> Evaluated:
    """Return a part of what was evaluated: from one place among the entries to look at to another.

    begin: where all of it begins.
    """
    if (low, high) == (begin, begin + one.n_rows):
        return one
    first, end = (int(found) for found in np.searchsorted(one.indices, [low, high]))
    return Evaluated(high - low, one.indices[first:end], one.rows.slice(first, end - first))
