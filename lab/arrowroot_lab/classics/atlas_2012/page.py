"""The page of ATLAS 2012."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.classic import Classic, points
from arrowroot_lab.figures.headlines import Headline
from arrowroot_lab.mining.format import ratio

from . import pictures, published, tables
from .layouts import Found
from .measuring import (
    NAME,
    SMALL_CACHE,
    SMALL_CACHE_BYTES,
    cpu_share,
    layout_ms,
    touched,
    without_work,
)
from .published import NEW, OLD, PICKED_SHARE
from .real import SIDE_BY_SIDE

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
        cluster had ten events; now the same layouts take {ms[OLD.name, PICKED_SHARE]:.0f} and
        {ms[NEW.name, PICKED_SHARE]:.0f} ms in virtual time, {gain:.1f} times less, if the tree cache is told which
        events are wanted.
    """)
    real = Found(found.document["rows"])
    figures = (
        pictures.layout_figure(found, real),
        pictures.share_figure(found),
        pictures.flush_figure(found),
        pictures.cache_figure(found),
        pictures.ping_figure(found),
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
                (f"{layout.name}, {words}", then * 1e6, ms[layout.name, share] * 1e6)
                for layout in (OLD, NEW)
                for share, words, then in (
                    (1.0, "all events", layout.all_ms),
                    (PICKED_SHARE, "1 %", layout.picked_ms),
                )
            ),
        ),
        figures=tuple(figure for figure in figures if figure is not None),
        tables=tables.all_of(found, real),
        scale=_scale(found, real),
        same=_same(),
        differs=_differs(found),
        today=_today(found, real),
        command=f"arrowroot lab classics {NAME}",
        sources=published.SOURCES,
        measured=found.measured(),
    )


def _scale(found: Results, real: Found) -> tuple[str, ...]:
    n, d3pd = found.model["n_events"], found.model["d3pd_bytes"] / 1e6
    size = found.model["file_bytes"] / 1e6
    where = "in the tables below" if real.rows else "which were not run for this page yet"
    return points(f"""
        {n:,} events of 170 kB, a file of {size:,.0f} MB: in the old layout 10,000 baskets in each cluster of
        30 MB, in the new one 800 in each cluster of ten events (scale {found.scale:g}), replayed in virtual
        time.

        A D3PD of {d3pd:,.0f} MB with {published.D3PD_BRANCHES:,} branches, flushed every 3, 30 and 300 MB, read
        through caches of 0, 30 and 300 MB from a disk, xrootd and HTTP.

        For real, smaller: campaigns/layouts.toml and campaigns/classics/atlas-2012.toml, {where}.
    """)


def _same() -> tuple[str, ...]:
    return points("""
        The layouts: objects split to the last member in clusters of 30 MB, against unsplit objects, ten events to a
        cluster; some 10,000 and 800 baskets. Member-wise in both, with the largest collection split in the real files.

        The questions: all events and one in a hundred; levels 1 and 6; flushes of 3, 30 and 300 MB; caches of 0, 30 and
        300 MB; round trips from 0 to 150 ms.
    """)


def _differs(found: Results) -> tuple[str, ...]:
    trips = published.round_trips_a_cpu_second()
    old_kb = published.FLUSH_BYTES / OLD.n_baskets / 1000
    new_kb = published.EVENT_BYTES * NEW.n_together / NEW.n_baskets / 1000
    follows = layout_ms(found, NEW, PICKED_SHARE, "cache")
    without = layout_ms(found, OLD, PICKED_SHARE, "no cache")
    untold = layout_ms(found, NEW, PICKED_SHARE, "cache, not told")
    return points(f"""
        The four times of an event are matched by three numbers of ours: 52 and 33 ms of work, and 60 MB/s for
        disk and decompression together. 170 kB an event is an assumption, too. 55, 270 and 35 ms fix the three;
        60 ms is what follows: {follows:.0f} ms here.

        The source does not say of these times whether the cache was on, and told the events. Without a cache they
        cannot be had: {without:,.0f} ms an event in the old layout. With one that is not told, the new layout
        takes {untold:.0f} ms.

        The slides say that baskets became more than ten times larger. That holds for clusters of one size; with
        ten events to a cluster they have {new_kb:.1f} kB, not more than the {old_kb:.1f} kB of before.

        The figures of levels, flushes and caches have no numbers that could be read, and name sites by their
        storage, on different hardware. Only their statements are compared. 3 MB is bad where some of the branches
        are read and each range is a request or a seek; vector reads make next to nothing of it. No cache is bad but
        on a disk, as they say. That 6 is at least as good as 1, and 5 % smaller, is for the campaign. That
        efficiency drops with 300 MB where there are no vector reads does not follow: without them it is as low
        with 30 MB. The slides do not tell what else a cache of 300 MB did there.

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
    versions = "Versions of today are beside each other in a figure."
    if not found.rows(SIDE_BY_SIDE):
        versions = """
            No results of versions are kept here: arrowroot lab run campaigns/versions.toml, then arrowroot lab
            classics atlas-2012 --db FILE --write, puts their bars here.
        """
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

        {versions}
    """)


def _share(found: Results, reader: str) -> str:
    row = found.row("layout", layout=NEW.name, share=PICKED_SHARE, reader=reader)
    return f"{row['read_bytes'] / found.model['file_bytes']:.0%}"


def _real_text(real: Found) -> str:
    told = [one for one in real.statements() if one.ratio is not None]
    if not told:
        return "The layouts were not read for real yet: campaigns/layouts.toml."
    return (
        "For real: "
        + "; ".join(f"{one.text}, {ratio(one.ratio)} times less" for one in told[:4] if one.ratio)
        + "."
    )
