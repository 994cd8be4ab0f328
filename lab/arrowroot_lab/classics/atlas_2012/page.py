"""The page of ATLAS 2012."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.classic import Classic, from_campaigns, points
from arrowroot_lab.figures.headlines import Headline, Pair
from arrowroot_lab.mining.format import ratio

from . import cases, layouts, pictures, published, tables
from .claims import claims
from .layouts import Found
from .measuring import (
    NAME,
    SMALL_CACHE,
    SMALL_CACHE_BYTES,
    athena_event_kb,
    cpu_share,
    layout_ms,
    some_branches,
    touched,
    without_work,
)
from .published import NEW, OLD, PICKED_SHARE, is_fitted
from .real import CASES

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results

TITLE = "ATLAS 2012: unsplit objects, ten events to a cluster"


def page(found: Results) -> Classic:
    """Return the page."""
    ms = {
        (layout.name, share): layout_ms(found, layout, share, "cache")
        for layout in (OLD, NEW)
        for share in (1.0, PICKED_SHARE)
    }
    gain = ms[OLD.name, PICKED_SHARE] / ms[NEW.name, PICKED_SHARE]
    [answer] = points(f"""
        In 2012 ATLAS read one event in a hundred in 60 ms where it had taken 270, as objects were no longer split and a
        cluster had ten events; now a model that is fitted to the 270 ms ({ms[OLD.name, PICKED_SHARE]:.0f} here), and to
        all events of both layouts, finds {ms[NEW.name, PICKED_SHARE]:.0f} ms in virtual time, {gain:.1f} times less, if
        the tree cache is told which events are wanted.
    """)
    real = Found(found.document["rows"])
    figures = (
        pictures.layout_figure(found, real),
        pictures.share_figure(found),
        pictures.flush_figure(found),
        pictures.cache_figure(found),
        pictures.ping_figure(found),
        pictures.real_ping_figure(found),
        pictures.worker_figure(found),
        pictures.version_figure(found),
        pictures.reads_figure(real),
    )
    return Classic(
        name=NAME,
        title=TITLE,
        answer=answer,
        headline=Headline(
            "Time of an event",
            "time",
            tuple(
                Pair(
                    f"{layout.name}, {words}",
                    then * 1e6,
                    ms[layout.name, share] * 1e6,
                    is_fitted(layout, share),
                )
                for layout in (OLD, NEW)
                for share, words, then in (
                    (1.0, "all events", layout.all_ms),
                    (PICKED_SHARE, "1 %", layout.picked_ms),
                )
            ),
        ),
        figures=tuple(figure for figure in figures if figure is not None),
        tables=tables.all_of(found, real),
        claims=tuple(claims(found)),
        scale=_scale(found, real),
        same=_same(real),
        differs=_differs(found, real),
        today=_today(found, real),
        command=f"arrowroot lab classics {NAME}",
        real_command=from_campaigns(NAME, "campaigns/layouts.toml", f"campaigns/classics/{NAME}.toml"),
        sources=published.SOURCES,
        measured=found.measured(),
    )


def _scale(found: Results, real: Found) -> tuple[str, ...]:
    n, d3pd = found.model["n_events"], found.model["d3pd_bytes"] / 1e6
    size = found.model["file_bytes"] / 1e6
    cases_too = "" if found.rows(CASES) else "; the second was not run for this page yet"
    where = f"in the tables above{cases_too}" if real.rows else "which were not run for this page yet"
    return points(f"""
        {n:,} events of 170 kB, a file of {size:,.0f} MB: in the old layout 10,000 baskets in each cluster of
        30 MB, in the new one 800 in each cluster of ten events (scale {found.scale:g}), replayed in virtual
        time.

        A D3PD of {d3pd:,.0f} MB with {published.D3PD_BRANCHES:,} branches, flushed every 3, 30 and 300 MB, read
        through caches of 0, 30 and 300 MB from a disk, xrootd and HTTP.

        For real, smaller: campaigns/layouts.toml and campaigns/classics/atlas-2012.toml, {where}.
    """)


def _same(real: Found) -> tuple[str, ...]:
    written = real.written(layouts.OLD), real.written(layouts.NEW)
    of_ours = ""
    if written[0] is not None and written[1] is not None:
        of_ours = (
            f" (the real files have {written[0]['n_branches']:,} and {written[1]['n_branches']:,} branches)"
        )
    return points(f"""
        The layouts: objects split to the last member in clusters of 30 MB, against unsplit objects, ten events to a
        cluster; some 10,000 and 800 baskets{of_ours}. Member-wise in both, with the largest collection split in the
        real files.

        The questions: all events and one in a hundred; levels 1 and 6; flushes of 3, 30 and 300 MB; caches of 0, 30 and
        300 MB; round trips from 0 to 150 ms.
    """)


def _differs(found: Results, real: Found) -> tuple[str, ...]:
    trips = published.round_trips_a_cpu_second()
    old_kb = published.FLUSH_BYTES / OLD.n_baskets / 1000
    new_kb = published.EVENT_BYTES * NEW.n_together / NEW.n_baskets / 1000
    follows = layout_ms(found, NEW, PICKED_SHARE, "cache")
    without = layout_ms(found, OLD, PICKED_SHARE, "no cache")
    untold = layout_ms(found, NEW, PICKED_SHARE, "cache, not told")

    def d3pd(storage: str, cache_mb: int) -> str:
        return f"{cpu_share(some_branches(found, storage, cache_mb * 1_000_000)):.0%}"

    return points(f"""
        The four times of an event are matched by three numbers of ours: 52 and 33 ms of work, and 60 MB/s for
        disk and decompression together. 55, 270 and 35 ms fix the three; 60 ms is what follows: {follows:.0f} ms
        here. 170 kB an event is an assumption, too; the slides' speeds of Athena, about
        {published.ATHENA_MB_PER_S[OLD.name]:.0f} and {published.ATHENA_MB_PER_S[NEW.name]:.0f} MB/s, would make
        {athena_event_kb(OLD):.0f} and {athena_event_kb(NEW):.0f} kB in {OLD.all_ms} and {NEW.all_ms} ms.

        The source does not say of these times whether the cache was on, and told the events. Without a cache they
        cannot be had: {without:,.0f} ms an event in the old layout. With one that is not told, the new layout
        takes {untold:.0f} ms.

        The slides call {OLD.all_ms} to {NEW.all_ms} ms about 30 % faster. These figures are
        {1 - NEW.all_ms / OLD.all_ms:.0%} less time, or {OLD.all_ms / NEW.all_ms - 1:.0%} more events in a second; 30 %
        is within their errors.

        The slides' memory is virtual memory, ours is what was resident at most. {_file_text(real)}

        The slides say that baskets became more than ten times larger. That holds for clusters of one size; with
        ten events to a cluster they have {new_kb:.1f} kB, not more than the {old_kb:.1f} kB of before.

        The figures of levels, flushes and caches have no numbers that could be read, and name sites by their
        storage, on different hardware. Only their statements are compared. 3 MB is bad where some of the branches
        are read and each range is a request or a seek; vector reads make next to nothing of it. The cache is called
        essential at some sites: here without one xrootd, and HTTP with many ranges, fall from {d3pd("xrootd", 30)} to
        {d3pd("xrootd", 0)}; where each range is a request or a seek it changes nothing for some of the branches. With
        300 MB, storages with vector reads keep a high efficiency ({d3pd("xrootd", 300)}) and the others have a low one
        ({d3pd("HTTP, one range a request", 300)} over HTTP, {d3pd("local disk", 300)} from a disk), as published. If
        the slides mean that these lose by it, that does not follow: they are as low with 30 MB.

        {cases.level_text(found)}

        The axis of round trips has no numbers. 94 % here, 60 to 80 % in the US and 45 % at CERN lie on one curve
        if CERN is 130 ms away, which is ours: {trips:.0f} round trips in a second of CPU time.

        The versions of ROOT that were compared, 5.28, 5.30 and 5.32, are in no package index; no significant
        change was found among them. campaigns/versions.toml compares those of today.
    """)


def _today(found: Results, real: Found) -> tuple[str, ...]:
    far = published.PINGS_NS[-1]
    cached, auto, small = (
        f"{cpu_share(found.row('ping', ping_ns=far, reader=reader)):.0%}"
        for reader in ("cache", "auto", SMALL_CACHE)
    )
    moved = {n: found.row("workers", layout=NEW.name, n_workers=4, n_dealt=n)["read_bytes"] for n in (1, 10)}
    alone, in_a_row = (4 * moved[n] / found.model["file_bytes"] for n in (1, 10))
    faster, old = without_work(found), f"{touched(found, OLD):.0%}"
    untold, told, by_auto = (_share(found, reader) for reader in ("cache, not told", "cache", "auto"))
    return points(f"""
        Tell the cache which events are wanted, by TTree::SetEventList: TTreeCache looks at no TEntryList (ROOT
        6.40). One that is not told reads {untold} of the new file for one event in a hundred, one that is told
        {told}, and {old} of the old one. arrowroot is told by the request itself: with auto {by_auto}.

        Without any work the new layout would be {faster:.1f} times as fast, not 4 to 5: the work of an event
        hides the rest.

        A disk is another matter: of all branches its kernel reads ahead while the job works, and a cache, which
        waits for 30 MB at a time, is slower than none; of some branches each range is a seek, with a cache or not.

        A tree cache of 30 MB makes far reading a matter of bandwidth: at 150 ms the job works for {cached} of the
        time, with auto, which fetches ahead, for {auto}. The published curve is that of reads of
        {SMALL_CACHE_BYTES / 1e6:g} MB, one after the other ({small} at 150 ms): what a small cache, or a TCP
        window of that size, would make. The source does not say which.

        Workers that take single events from a queue read each cluster again and again: four of them move
        {alone:.1f} times the file. If a worker gets ten events in a row, the four move it {in_a_row:.1f} times.

        {_real_text(real)}

        {cases.text(found)}

        {cases.version_text(found)}
    """)


def _share(found: Results, reader: str) -> str:
    row = found.row("layout", layout=NEW.name, share=PICKED_SHARE, reader=reader)
    return f"{row['read_bytes'] / found.model['file_bytes']:.0%}"


def _file_text(real: Found) -> str:
    old, new = real.written(layouts.OLD), real.written(layouts.NEW)
    if old is None or new is None:
        return ""
    more = 100 * (new["n_bytes"] / old["n_bytes"] - 1)
    than = "larger" if more > 0 else "smaller"
    return f"Their files are very similar in size; ours is {abs(more):.0f} % {than} in the new layout."


def _real_text(real: Found) -> str:
    told = [one for one in real.statements() if one.ratio is not None]
    if not told:
        return "The layouts were not read for real yet: campaigns/layouts.toml."
    return (
        "The layouts for real, new against old: "
        + "; ".join(f"{one.text}, {ratio(one.ratio)} times less" for one in told[:4] if one.ratio)
        + "."
    )
