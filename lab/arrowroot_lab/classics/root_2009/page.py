"""The page of ROOT 2009."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics import results
from arrowroot_lab.classics.atlas_2012 import layouts
from arrowroot_lab.classics.classic import Classic, from_campaigns, points
from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.headlines import GIVEN, Headline, Pair
from arrowroot_lab.figures.reads import Read, offsets
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, Table

from . import published, tables
from .claims import claims
from .measuring import (
    CORNERS,
    LAYOUTS,
    LINES,
    MB,
    N_BINS,
    SMALL_REAL_BYTES,
    corner,
    cpu_share,
    seek_ms,
    way,
)

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results
    from arrowroot_lab.figures.figure import Figure

TITLE = "ROOT 2009: many small reads, and few large ones"

_CACHE = published.CACHE_BYTES
#: Strategies of the campaign's job that works, over 50 ms.
_FAR_REAL = {
    "treecache 2 MB": "with its tree cache",
    "treecache 2 MB prefetch=1": "with a window ahead",
    "auto": "with auto",
}
_WAYS = ("no cache", "tree cache", "asynchronous", "local copy, second time")


def page(found: Results) -> Classic:
    """Return the page."""
    corners = {key: corner(found, *key) for key in CORNERS}
    plain, layout_alone = corners["unoptimised", 0], corners["optimised", 0]
    cache_alone, both = corners["unoptimised", _CACHE], corners["optimised", _CACHE]
    then = published.STATS
    disk = {(row["layout"], row["strategy"]): row for row in found.rows("replay", line="disk")}
    bare = found.row("replay", layout="unoptimised", line="disk, nothing ahead", strategy="direct")
    far = {row["cache_bytes"]: row for row in found.rows("cache", layout="optimised")}
    drawn = {row["layout"]: row for row in found.rows("third", which="drawn")}
    in_a_row = found.row("third", layout="optimised", which="in a row")
    model = found.model
    fewer = round(then["unoptimised"].n_reads / then["optimised"].n_reads)
    [answer] = points(f"""
        In 2009 a flushed file and a tree cache of 60 MB turned 1,328,586 reads and 722 s into 521 reads and 112 s;
        now {plain["n_reads"]:,} baskets are put in, {layout_alone["n_reads"]:,} for the layout alone, and both times
        are fitted; what is found is {both["n_reads"]:,} reads with both, and {cache_alone["n_reads"]:,} with the cache
        alone, which nobody published.
    """)
    return Classic(
        name="root-2009",
        title=TITLE,
        answer=answer,
        headline=Headline(
            "How many times fewer reads than without cache and flushes",
            "count",
            (
                *_real_pairs(fewer),
                Pair(
                    f"both, by ROOT's rules ({plain['n_reads']:,} to {both['n_reads']:,})",
                    fewer,
                    round(plain["n_reads"] / both["n_reads"]),
                ),
                Pair("cache alone", None, round(plain["n_reads"] / cache_alone["n_reads"])),
                Pair(
                    "layout alone", None, round(plain["n_reads"] / layout_alone["n_reads"], 1), is_given=True
                ),
            ),
            f"Given: {plain['n_reads']:,} reads without either and {layout_alone['n_reads']:,} with the layout alone, "
            "one for each basket that was put in.",
        ),
        figures=(
            *(_reads_figure(found, *key) for key in CORNERS),
            _time_figure(found),
            _far_figure(found),
            _cache_figure(found),
            _bandwidth_figure(found),
        ),
        tables=(
            tables.stats_table(found),
            tables.disk_table(found),
            tables.cache_table(found),
            tables.far_table(found),
            tables.third_table(found),
            *tables.real_tables(found),
        ),
        claims=tuple(claims(found)),
        scale=points(f"""
            {published.N_LEAVES:,} branches, {model["unoptimised"]["n_baskets"]:,} baskets of a file of
            {model["unoptimised"]["file_bytes"] / 1e6:,.1f} MB, and {model["optimised"]["n_baskets"]:,} of a flushed
            one of {model["optimised"]["file_bytes"] / 1e6:,.1f} MB in {model["optimised"]["n_clusters"]} clusters;
            {model["n_entries"]:,} entries (scale {found.scale:g}), all read one after the other, in virtual time.

            campaigns/classics/root-2009.toml reads both layouts for real, a sixteenth of the size, by ROOT and
            arrowroot.
        """),
        same=points("""
            Without a cache or flushes: the number of reads and their bytes, to the last published digit; the number of
            leaves; CPU times. All of these are put in.

            The tree cache follows ROOT's own rules (FillBuffer, Sort, ReadBuffers): baskets of the entries that come,
            sorted by their place, blocks of 16 MB, a read-ahead of 256 kB.

            The layouts: baskets of some 3 kB that are written when they are full, and a basket of each branch for
            every 30 MB.
        """),
        differs=points(f"""
            The two published runs differ in layout, in cache, in ROOT's version (5.25/03 and 5.25/05) and in the name
            of the machine. What layout and cache do alone was not published: the two corners between are ours. The
            reads of the layout alone are put in: {published.N_LEAVES:,} branches by {model["optimised"]["n_clusters"]}
            clusters of 30 MB.

            The published flushed run made 521 reads of 2 MB; here they are {both["n_reads"]} of
            {both["read_bytes"] / both["n_reads"] / 1e6:.0f} MB, because nothing else lies in our file. A file of
            ATLAS has other trees between the baskets of this one: that is our guess.

            The real file is not known. How differently branches fill was chosen so that what one entry needs spans
            {model["unoptimised"]["span_bytes"] / 1e6:.0f} MB: the picture of overlapping reads has a mark of 100 MB,
            which we take for that. That it has {published.N_ENTRIES:,} entries is ours; the axis has no numbers in what
            is left of the talk.

            Times are those of a store that takes {published.LATENCY_NS / 1e6:.2f} ms for a read and has
            {published.BYTES_PER_S / 1e6:.0f} MB/s: ours, and both published disk times follow from it (578 and 15.4
            s). A disk does not cost that for a read, but for a jump, and the page cache answers what came with
            others. Replayed with a kernel that reads 256 kB ahead, {disk["unoptimised", "direct"]["n_seeks"]:,} of
            the reads are seeks, and {bare["n_seeks"]:,} without any read-ahead: they make 578 s if a seek takes
            {seek_ms(found, "disk"):.1f} or {seek_ms(found, "disk, nothing ahead"):.1f} ms, as short ones do. So 0.42
            ms is a mean of jumps and of what was there already.

            CPU times of the corners between are those of their layout. The published CPU and disk times of the first
            run are 15 s more than its real time: they overlap.

            The published files differ by 195 MB, which is 15 %, and by 122 MB unzipped. That is 124 bytes for each
            basket that is fewer here: about what a key takes, which is our guess; the rest is that larger baskets
            compress better. Ours have the published sizes. CPU time fell as well, by 47 microseconds for each read
            that is gone: that is not modelled.

            Pictures of the talk are in the slides only, and not in what is left of it.
        """),
        today=points(f"""
            Is the cache enough? Alone it makes {cache_alone["n_reads"]:,} reads of what was {plain["n_reads"]:,}, and
            moves {cache_alone["read_bytes"] / plain["asked_bytes"]:.1f} times what is needed, as baskets of other
            entries lie between. Is the layout? Alone it leaves {layout_alone["n_reads"]:,} reads, one for each basket
            that was put in. They follow each other in the file, and as the talk says, none goes back: a disk makes one
            seek for all of them, and a kernel that reads ahead has them there before they are needed. On a local disk
            the layout is what matters; behind a network each read is a round trip, and the cache is.

            Are there 10,000 times fewer transactions with a cache, as the talk has it for the usual case? The published
            pair has {then["unoptimised"].n_reads / then["optimised"].n_reads:,.0f}, and changes the layout besides.
            Here the cache takes {layout_alone["n_reads"]:,} reads of the flushed file to
            {both["n_fills"]} fills, a factor of {layout_alone["n_reads"] / both["n_fills"]:,.0f} where a fill is one
            vector read, and of {layout_alone["n_reads"] / both["n_reads"]:,.0f} on a disk.

            Is a larger cache always better, as the talk says? Without prefetching that is true for the layout of 2009.
            For the flushed file the disk time is {far[30 * MB]["wait_ns"] / 1e9:.1f} s whatever the size, as by our
            rules a fill takes a cluster at least (of a smaller cache ROOT 6.40 makes more reads for real, see the end);
            over 50 ms ten times the cache gains
            {100 * (1 - far[300 * MB]["far_wall_ns"] / far[30 * MB]["far_wall_ns"]):.1f} %, and with asynchronous
            prefetching it loses
            {100 * (far[300 * MB]["far_async_wall_ns"] / far[30 * MB]["far_async_wall_ns"] - 1):.0f} %: nothing hides
            the first fill.

            Asynchronous prefetching (2012): near, it takes CPU over real time from
            {way(found, "LAN", "tree cache"):.1%} to {way(found, "LAN", "asynchronous"):.1%}; over 50 ms and 100 Mb/s
            from {way(found, "50 ms", "tree cache"):.1%} to {way(found, "50 ms", "asynchronous"):.1%}. It helps most
            where bytes take as long as the work, by a factor of 2 at most, and cannot help where the line is too
            narrow.

            readfile.C with 0.33 draws a third of the entries. Of the flushed file they need
            {drawn["optimised"]["n_baskets"] / model["optimised"]["n_baskets"]:.0%} of the baskets, of the other one
            {drawn["unoptimised"]["n_baskets"] / model["unoptimised"]["n_baskets"]:.1%}: a third of the entries costs
            nearly all of the bytes. The first third of them costs
            {in_a_row["read_bytes"] / in_a_row["file_bytes"]:.0%}, as its clusters are even.

            {_auto_text(found)}

            {_real_text(found)}

            {_far_real_text(found)}
        """),
        command="arrowroot lab classics root-2009",
        real_command=from_campaigns("root-2009", "campaigns/classics/root-2009.toml"),
        sources=published.SOURCES,
        measured=found.measured(),
    )


def _real_pairs(published_ratio: int) -> list[Pair]:
    """The corners neither and both as ROOT 6.40 reads them from real files: those of ATLAS's layouts."""
    real = layouts.Found(results.stored("atlas-2012").document["rows"])
    neither, both = (
        real.read(layouts.OLD, "all", layouts.PLAIN),
        real.read(layouts.NEW, "all", layouts.CACHED),
    )
    if neither is None or both is None:
        return []
    counts = neither["n_requests"], both["n_requests"]
    return [
        Pair(
            f"both, ROOT 6.40 for real ({counts[0]:,} to {counts[1]:,})",
            published_ratio,
            round(counts[0] / counts[1]),
        )
    ]


def _auto_text(found: Results) -> str:
    told = {(row["layout"], row["line"]): row for row in found.rows("replay", strategy="auto")}
    reads = [told[layout, "50 ms"] for layout in LAYOUTS]
    return (
        "With auto arrowroot makes "
        + " and ".join(
            f"{row['n_requests']:,} requests of the {layout} file"
            for layout, row in zip(LAYOUTS, reads, strict=True)
        )
        + f" over 50 ms, and works for {cpu_share(reads[0]):.0%} and {cpu_share(reads[1]):.0%} of the time. "
        "Its windows have 32 MB at most in its usual memory of 256 MB: a larger cache_size changes nothing there. "
        + _disk_text(found)
    )


def _disk_text(found: Results) -> str:
    """Auto with the unoptimised file on a disk, where it is no help."""
    rows = found.rows("replay", layout="unoptimised", line="disk")
    auto, cached = (next(row for row in rows if row["strategy"] == name) for name in ("auto", "treecache"))
    return (
        f"On a disk, event by event, it does badly with that file: to spare seeks it reads what lies between, "
        f"{auto['read_bytes'] / auto['payload_bytes']:.1f} times what is needed, and works for {cpu_share(auto):.0%} "
        f"of the time, where its tree cache of {cached['cache_bytes'] // MB} MB works for {cpu_share(cached):.0%}."
    )


def _name(layout: str, cache_bytes: int) -> str:
    return f"{layout}, {f'cache of {cache_bytes // MB} MB' if cache_bytes else 'no cache'}"


def _reads_figure(found: Results, layout: str, cache_bytes: int) -> Figure:
    seen = found.model["shown"][f"{layout} {cache_bytes}"]
    file_bytes, n_entries = found.model[layout]["file_bytes"], found.model["n_entries"]
    row = corner(found, layout, cache_bytes)
    given = "" if cache_bytes else f" ({GIVEN})"
    reads, lines = [], []
    for column, n_reads, n_bytes, end_ms, runs in seen:
        entry = column * n_entries // N_BINS
        lines.append((entry, (column + 1) * n_entries // N_BINS, n_reads, n_bytes, end_ms * 1_000_000))
        for begin, end in runs:
            offset = begin * file_bytes // N_BINS
            reads.append(Read(entry, offset, end * file_bytes // N_BINS - offset, end_ms * 1_000_000))
    columns = (
        Column("entry_begin", "From entry", "count"),
        Column("entry_end", "To entry", "count"),
        Column("n_reads", "Reads", "count"),
        Column("n_bytes", "Bytes", "bytes"),
        Column("end_ns", "Time at the end", "time"),
    )
    title = f"Reads: {_name(layout, cache_bytes)}"
    return offsets(
        title,
        f"{row['n_reads']:,} reads{given} of {shown(row['read_bytes'] / row['n_reads'], 'bytes')}; places to "
        f"{file_bytes / N_BINS / 1e6:.0f} MB.",
        reads,
        file_bytes=file_bytes,
        n_entries=n_entries,
        numbers=Table(title, columns, tuple(lines)),
    )


def _time_figure(found: Results) -> Figure:
    data = []
    for layout, cache_bytes in CORNERS:
        name, row = _name(layout, cache_bytes), corner(found, layout, cache_bytes)
        then = published.STATS[layout]
        is_published = then.cache_mb * MB == cache_bytes
        if is_published:
            data.append(Bar(name, "real time, published", round(then.real_s * 1e9)))
            data.append(Bar(name, "disk time, published", round(then.disk_s * 1e9)))
        for words, key in (("real time, here", "wall_ns"), ("disk time, here", "wait_ns")):
            # Reads without a cache are put in, so what they take follows.
            is_given = is_published or not cache_bytes
            data.append(Bar(name, words, round(row[key] / found.scale), is_given=is_given))
    return bars(
        "Real time and disk time of the four corners",
        "Each read costs 0.42 ms, its bytes come at 70 MB/s: fitted to the published corners. Times there and "
        "without a cache are given.",
        data,
        Column("time_ns", "Time", "time"),
        group="Corner",
        series="Time",
    )


def _far_figure(found: Results) -> Figure:
    data = [
        Bar(line, name, way(found, line, name), is_given=name == "no cache")
        for line in LINES
        for name in _WAYS
    ]
    return bars(
        "CPU over real time: asynchronous prefetching and local caching",
        "The flushed file, cache of 30 MB; LAN: 0.5 ms, 1 Gb/s; far away: 50 ms, 100 Mb/s.",
        data,
        Column("cpu_share", "CPU / real time", "share"),
        group="Line",
        series="Way",
    )


def _cache_figure(found: Results) -> Figure:
    rows = {layout: found.rows("cache", layout=layout) for layout in LAYOUTS}
    ways = (("disk", "wall_ns"), ("50 ms", "far_wall_ns"), ("50 ms, asynchronous", "far_async_wall_ns"))
    series = [
        Series(
            f"{layout}, {name}",
            tuple(
                Point(row["cache_bytes"], cpu_share(row, key)) for row in rows[layout] if row["cache_bytes"]
            ),
        )
        for layout in LAYOUTS
        for name, key in ways
    ]
    return curves(
        "CPU over real time, by the size of the cache",
        "Larger is always better for the layout of 2009 without prefetching; a flushed file does not gain.",
        series,
        Column("cache_bytes", "Tree cache", "bytes"),
        Column("cpu_share", "CPU / real time", "share"),
        is_log_x=True,
        from_zero=True,
    )


def _bandwidth_figure(found: Results) -> Figure:
    rows = found.rows("bandwidth")
    series = [
        Series(name, tuple(Point(row["bytes_per_s"], cpu_share(row, key)) for row in rows))
        for name, key in (("one buffer", "wall_ns"), ("two buffers", "async_wall_ns"))
    ]
    return curves(
        "What asynchronous prefetching hides, 50 ms away",
        "Most where the bytes take as long as the work: about 11 MB/s here.",
        series,
        Column("bytes_per_s", "Line, bytes a second", "bytes"),
        Column("cpu_share", "CPU / real time", "share"),
        is_log_x=True,
        from_zero=True,
    )


def _far_real_text(found: Results) -> str:
    """The gain of prefetching for real, where batches are larger than windows; "" without times."""
    rows = {row["title"]: row for row in found.rows("real", workload="with CPU time") if row["wall_ns"]}
    if not rows.keys() >= _FAR_REAL.keys():
        return ""
    told = ", ".join(
        f"{rows[title]['cpu_ns'] / rows[title]['wall_ns']:.0%} of its time {words}"
        for title, words in _FAR_REAL.items()
    )
    return (
        "For real, over the same 50 ms and with 5 ms of work an entry, a job that reads the flushed file works "
        f"{told}. So a window ahead is not worth here what the two buffers are worth in virtual time: a batch of "
        "entries, on which the job works, has many of these windows, and only one more comes meanwhile. auto has as "
        "many ahead as the line needs."
    )


def _real_text(found: Results) -> str:
    rows = [row for row in found.rows("real", workload="all entries") if row["engine"].startswith("root")]
    of = {
        (row["layout"], row["strategy"]): row["n_reads"]
        for row in rows
        if row["cache_bytes"] != SMALL_REAL_BYTES
    }
    if not of:
        return "It was not measured for real yet."
    [small] = [
        row["n_reads"]
        for row in rows
        if (row["layout"], row["cache_bytes"]) == ("optimised", SMALL_REAL_BYTES)
    ]
    [told] = [
        row["n_reads"]
        for row in found.rows("real", layout="optimised", strategy="treecache")
        if row["engine"].startswith("root")
        and row["workload"].startswith("a third")
        and row["cache_bytes"] != SMALL_REAL_BYTES
    ]
    return (
        f"For real, a sixteenth of the size, ROOT 6.40 makes {of['unoptimised', 'direct']:,} reads without either, "
        f"{of['unoptimised', 'treecache']:,} with the cache alone, {of['optimised', 'direct']:,} with the layout "
        f"alone, and {of['optimised', 'treecache']:,} with both. Most of the last are made while it learns the "
        f"branches, which readfile.C tells it: a TTreeReader tells them, too, and makes {told} for a third of the "
        f"entries. With a cache a little smaller than a cluster there are {small:,} for all of them."
    )
