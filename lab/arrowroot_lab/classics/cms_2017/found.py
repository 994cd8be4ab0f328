"""The figures of CMS 2017 that its page shows: of its results, which have those that were published, too."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics.study import Study
from arrowroot_lab.figures.bars import Bar
from arrowroot_lab.figures.curves import Point, Series
from arrowroot_lab.figures.headlines import GIVEN, Pair
from arrowroot_lab.figures.streams import Graph, Interval, stall_graphs

from .measuring import FIGURES, FITTED, N_EVENTS, POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.figures.figure import Figure

_NAMES = {"single": "one buffer", "fifo": "FIFO of four", "fullest": "fullest of four"}
#: As the slides call them.
_PUBLISHED_NAMES = {"single": "Single thread", "fifo": "FIFO queue", "fullest": "Priority queue"}


class Cms2017Results(Study):
    """The results of CMS 2017."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        self.real = self.rows("real")
        #: Policy -> its runs, one for each seed; and their means, but the longest stall of all.
        self.runs = {policy: self.rows("policy", policy=policy) for policy in POLICIES}
        self.here = {policy: _means(runs) for policy, runs in self.runs.items()}
        self.threads = self.keyed("threads", "policy")
        #: Policy, streams and buffers -> means over the seeds.
        self.buffers = self.keyed("buffers", "policy", "n_streams", "n_buffers")
        #: Policy -> what was published: the benchmark that is asked has it.
        self.then = {policy: self.row("published", policy=policy) for policy in POLICIES}
        #: Policy -> one less the stalled share: 12 streams took 40,000 events over the rate.
        self.not_stalled = {
            policy: float(1 - row["stalls_s"] * row["events_per_s"] / (self.model["n_streams"] * N_EVENTS))
            for policy, row in self.then.items()
        }
        #: The CPU time of an event that follows if efficiency is CPU time over what 12 streams have.
        self.event_s = [
            float(row["efficiency"] * self.model["n_streams"] / row["events_per_s"])
            for row in self.then.values()
        ]

    def by_buffers(self, policy: str, n_streams: int) -> list[Row]:
        """Return the rows of a policy, by the number of buffers."""
        return [row for key, row in sorted(self.buffers.items()) if key[:2] == (policy, n_streams)]

    def peer(self, writer: str) -> Row:
        """Return the row of a writer of trees, for real, with the most streams."""
        most = max(row["n_streams"] for row in self.real)
        return self.row("real", writer=writer, layout="ttree", shape="miniaod", n_streams=most)

    def pairs(self) -> Iterator[Pair]:
        """Return the time of the stalls, of each policy."""
        for policy in POLICIES:
            then = round(self.then[policy]["stalls_s"], 1)
            here = round(self.here[policy]["stalls_s"] / self.scale, 1)
            yield Pair(_NAMES[policy], then, here, policy == FITTED)

    def graphs(self) -> Iterator[Figure]:
        """Draw the stall graphs."""
        caption = "Green: a stream works; red: it waits for a buffer; blue: it compresses the one that it has filled."
        yield stall_graphs("Stall graphs of 10,000 events", caption, [self._graph(one) for one in POLICIES])

    def _graph(self, policy: str) -> Graph:
        told, ms = self.model["graphs"][policy], 1_000_000
        intervals = tuple(
            Interval(stream, bool(is_stalled), begin * ms, (begin + length) * ms)
            for stream, is_stalled, begin, length in told["intervals"]
        )
        return Graph(_NAMES[policy], told["n_streams"], told["end_ms"] * ms, intervals)

    def efficiency_bars(self) -> Iterator[Bar]:
        """Return efficiency and one less the stalled share, published and here."""
        for policy, runs in self.runs.items():
            name, here, n, is_given = _NAMES[policy], self.here[policy], len(runs), policy == FITTED
            shares = [run["efficiency"] for run in runs]
            yield Bar(name, "efficiency, published", self.then[policy]["efficiency"])
            yield Bar(name, "1 - stalled, published", self.not_stalled[policy])
            bounds = min(shares), max(shares)
            yield Bar(name, "efficiency, here", here["efficiency"], *bounds, n, is_given=is_given)
            yield Bar(name, "1 - stalled, here", here["not_stalled"], n=n, is_given=is_given)

    def buffer_series(self) -> Iterator[Series]:
        """Return the stalls with FIFO by the number of buffers; the model is fitted to one buffer of 12 streams."""
        for n_streams in (12, 8, 4):
            rows = self.keyed("buffers", "n_buffers", policy="fifo", n_streams=n_streams)
            points = (
                Point(n, row["stalls_s"] * 1e9, is_given=(n_streams, n) == (12, 1)) for n, row in rows.items()
            )
            yield Series(f"fifo, {n_streams} streams", tuple(points))

    def use_bars(self) -> Iterator[Bar]:
        """Return the share of the events that each buffer has taken."""
        for policy in ("fifo", "fullest"):
            n_fills = self.buffers[policy, 12, 4]["n_fills"]
            for number, n in enumerate(n_fills, 1):
                yield Bar(_NAMES[policy], f"buffer {number}", n / sum(n_fills))

    def policy_rows(self) -> Iterator[Row]:
        """Return each policy as published, alone, and on threads that sleep."""
        n_sleeping = self.model["n_sleeping_events"]
        for policy in POLICIES:
            kind = GIVEN if policy == FITTED else "found"
            then = {**self.then[policy], "not_stalled": self.not_stalled[policy]}
            here = {**self.here[policy], "n_stalls": round(self.here[policy]["n_stalls"], 1)}
            for source, row in (
                (f"published: {_PUBLISHED_NAMES[policy]}", then),
                (f"policy alone, {len(self.runs[policy])} seeds: {kind}", here),
                (f"threads that sleep, {n_sleeping:,} events: {kind}", self.threads[policy]),
            ):
                yield {**_rounded(row), "policy": _NAMES[policy], "source": source}

    def buffer_rows(self) -> Iterator[Row]:
        """Return what CMS left open."""
        for row in self.buffers.values():
            use = ", ".join(f"{100 * n / sum(row['n_fills']):.1f}" for n in row["n_fills"])
            yield {**_rounded(row), "use": use}


def _means(runs: list[Row]) -> Row:
    here = {key: statistics.fmean(run[key] for run in runs) for key in FIGURES}
    return {**here, "longest_s": max(run["longest_s"] for run in runs)}


def _rounded(row: Row) -> Row:
    return {**row, "stalls_s": round(row["stalls_s"], 1), "longest_s": round(row["longest_s"], 1)}
