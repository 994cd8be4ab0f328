"""The page of Liverpool 2008."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics.classic import Classic, points
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.headlines import GIVEN, Headline, Pair
from arrowroot_lab.figures.reads import Read, offsets
from arrowroot_lab.mining.table import Column, Table

from . import published
from .claims import claims
from .measuring import (
    BASKETS,
    DISK_BYTES_PER_S,
    NAME,
    SEEK_NS,
    cpu_share,
    deviation,
    events_per_s,
    factors,
    fall_bytes,
    peak,
)
from .published import KIB, MIB

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results, Row
    from arrowroot_lab.figures.figure import Figure

TITLE = "Liverpool 2008: the read-ahead buffer that made it worse"


def page(found: Results) -> Classic:
    """Return the page."""
    rows = found.rows("buffer")
    top, fall = peak(rows), fall_bytes(rows)
    auto, ordered = found.row("today", strategy="auto"), found.row("in the order of the file")
    disk = found.row("disk", read_ahead_bytes=128 * KIB)
    far = found.row("disk", read_ahead_bytes=128 * MIB)
    files = [row["read_bytes"] / row["file_bytes"] for row in found.rows("file")]
    large = found.row("buffer", cache_bytes=128 * MIB)
    told = {line.buffer_bytes: line for line in published.TABLE}
    worst, at = max(factors(found), key=lambda factor: factor[0])
    first_gb = max(row["first_bytes"] for row in rows) / 1e9
    [answer] = points(f"""
        In 2008 a larger read-ahead buffer first moved up to 174 GB of a file of 1.5 GB, and then, from 64 MB on,
        helped, and why was left open; now a file without flushes is fitted to these volumes, and it is found that the
        worst buffer, {_size(top["cache_bytes"])} with {top["read_bytes"] / 1e9:.0f} GB, was not tried, that
        {_size(fall)} would have done, and that what decides is the span of an event in the file
        ({found.model["span_bytes"] / 1e6:.0f} MB here), not its size.
    """)
    return Classic(
        name=NAME,
        title=TITLE,
        answer=answer,
        headline=Headline(
            "Bytes moved of a file of 1.5 GB",
            "bytes",
            tuple(
                Pair(
                    f"buffer of {_size(size)}",
                    round((line.volume_gb or line.retest_gb or 0) * 1e9) if line else None,
                    round(found.row("buffer", cache_bytes=size)["read_bytes"] / found.scale),
                    line is not None,
                )
                for size in sorted({*told, top["cache_bytes"]})
                for line in (told.get(size),)
            ),
            f"Fitted: off the published bands by a factor of {deviation(found):.2f} in the mean, and of {worst:.2f} at "
            f"most ({_size(at.buffer_bytes)}). Found: the worst buffer is {_size(top['cache_bytes'])}.",
        ),
        figures=(_volume_figure(found), _share_figure(found), _zigzag_figure(found), _span_figure(found)),
        tables=(
            _buffer_table(found),
            _span_table(found),
            *_real_tables(found),
            _today_table(found),
            _local_table(found),
            _lines_table(found),
        ),
        claims=tuple(claims(found)),
        scale=points(f"""
            {found.model["n_baskets"]:,} baskets, {found.model["asked_bytes"] / 1e9:.2f} GB of a file of
            {found.model["file_bytes"] / 1e9:.2f} GB, {found.model["n_events"]:,} events (scale {found.scale:g}),
            replayed in virtual time, event by event.

            campaigns/classics/liverpool-2008.toml does it for real with a file of 195 MB that ROOT writes without
            flushes: the counts of its reads are those that a replay says.
        """),
        same=points("""
            The buffer: one window that begins at the missed byte, and is filled anew when a read lies outside. RFIO's
            client code agrees: a seek inside the buffer keeps it, any other drops it.

            The sizes of the buffer (0.125 MB are 128 kB, so they are powers of two), the size of the file, the order of
            the reads (as GetEntry reads).

            256 kB, which the retest found worse than 128 kB without a figure, is worse here, too.
        """),
        differs=points(f"""
            The real file is not known. Ours has {published.N_BRANCHES} branches, baskets of
            {published.BASKET_BYTES / 1000:.0f} kB, compressed {published.COMPRESSION:.0f} times;
            {published.READ_SHARE:.0%} of the branches are read. How differently the branches fill was chosen so that
            the volumes fit: they are off the published bands by a factor of {deviation(found):.2f} in the mean, and of
            {worst:.2f} at most, with {_size(at.buffer_bytes)}. Other layouts rise and fall, too, some elsewhere.

            CPU time (230 s), a read (0.92 ms) and the line (1 Gb/s) were fitted by hand to the published CPU shares:
            these may claim a shape only.

            Published volumes are what a monitor of the node's network showed; ours are counted. They are taken as those
            of one file of 1.5 GB, which the source says of its retest alone.

            First table and retest differ by {_between("volume_gb", "retest_gb")} in their volumes where both are
            published, and by 4 and 14 points in their CPU shares: the figures show a band.

            The blog's local disk had a CPU share of about 50 % at about an eighth of the events a second; it does not
            say against which buffer. Both cannot follow from one CPU time; ours has {cpu_share(disk):.0%} at
            {events_per_s(found, disk) / events_per_s(found, large):.2f} of the rate that the largest buffer gives,
            with the kernel's read-ahead of 128 KiB.

            The source says that files of less than 128 MB move about as much as with 4 kB, at nearly 100 %, as the
            first reads bring all of them. That holds if the first read is at the beginning of the file, as the opening
            is: then such a file moves once. Our job begins at its first basket, and each jump back drops the buffer:
            files of 0.5, 1 and 12 times its size move {files[0]:.1f}, {files[1]:.1f} and {files[2]:.1f} times.
        """),
        today=points(f"""
            With auto the job moves {auto["read_bytes"] / 1e9:.2f} GB in {auto["n_requests"]:,} requests, and works
            for {cpu_share(auto):.0%} of the time; in the order of the file {ordered["read_bytes"] / 1e9:.2f} GB in
            {ordered["n_requests"]:,}.

            Which guess holds? If only the beginning of the file were buffered, {first_gb:.2f} GB would move at most.
            174 GB refute that. The first guess holds, with a correction: it is not the size of an event that counts,
            but how far what it needs lies apart. Larger baskets and more branches move the peak; other seeds do not.

            For our file {_size(fall)} would have done, and the worst buffer, {_size(top["cache_bytes"])}, was not among
            those that were tried then. 16 MiB as 128 blocks of 128 kB, of which the last used stay, move
            {found.row("blocks")["read_bytes"] / 1e9:.2f} GB: one window was the fault, not its size.

            The kernel keeps what it read ahead, where RFIO dropped it: on a local disk a read-ahead of 1 MB changes
            next to nothing, and one of 128 MB makes the job {disk["wall_ns"] / far["wall_ns"]:.1f} times as fast.
            Where two or more jobs share the line, 4 kB beats 128 kB, 32 and 128 MiB, as it moves least.

            Files that ROOT writes today are flushed, and their baskets are made to fit a cluster. Flushing alone is
            no cure: with clusters of 30 MB and the same baskets {peak(found.rows("flushed"))["read_bytes"] / 1e9:.0f}
            GB move at the peak.
        """),
        command="arrowroot lab classics liverpool-2008",
        real_command=(
            "python campaigns/classics/unflushed.py . && "
            "arrowroot lab classics liverpool-2008 --file unflushed.root:events"
        ),
        sources=published.SOURCES,
        measured=found.measured(),
    )


def _between(one: str, other: str) -> str:
    """By which shares the first table and the retest differ, from the least to the most."""
    pairs = [(getattr(line, one), getattr(line, other)) for line in published.TABLE]
    shares = sorted(abs(1 - retest / first) for first, retest in pairs if first and retest)
    return f"{100 * shares[0]:.0f} and {100 * shares[-1]:.0f} %"


def _size(n_bytes: int) -> str:
    return f"{n_bytes // MIB} MiB" if n_bytes >= MIB else f"{n_bytes // KIB} KiB"


_BUFFER = Column("buffer_bytes", "Buffer", "bytes")
#: As RFIO's users wrote it.
_BUFFER_TEXT = Column("buffer", "Buffer")


def _pace(found: Results, row: dict[str, Any]) -> tuple[float, float]:
    """The cells of ``_pace_columns``."""
    return cpu_share(row), events_per_s(found, row)


def _pace_columns(whose: str = "") -> tuple[Column, Column]:
    return Column("cpu_share", f"CPU{whose}", "share"), Column("events_per_s", f"Events/s{whose}", "rate")


def _is_fitted(row: Row) -> bool:
    """True if the layout is fitted to what was published of a size of the buffer."""
    return any(line.buffer_bytes == row["cache_bytes"] for line in published.TABLE)


def _volume_figure(found: Results) -> Figure:
    here = Series(
        "replayed",
        tuple(
            Point(row["cache_bytes"], row["read_bytes"] / found.scale, is_given=_is_fitted(row))
            for row in found.rows("buffer")
        ),
    )
    first = Series(
        "second guess: only the beginning",
        tuple(Point(row["cache_bytes"], row["first_bytes"] / found.scale) for row in found.rows("buffer")),
    )
    then = Series(
        "published",
        tuple(
            Point(line.buffer_bytes, (line.volume_gb or band[0]) * 1e9, band[0] * 1e9, band[1] * 1e9)
            for line in published.TABLE
            if (band := line.band()) is not None
        ),
        is_published=True,
    )
    return curves(
        "Bytes that move, by the size of the buffer",
        "Published points with first table and retest as bounds, to which ours are fitted; the peak is found.",
        (then, here, first),
        _BUFFER,
        Column("read_bytes", "Bytes moved", "bytes"),
        is_log_x=True,
        is_log_y=True,
    )


def _share_figure(found: Results) -> Figure:
    then = []
    for line in published.TABLE:
        shares = [share for share in (line.cpu_share, line.retest_share) if share is not None]
        if shares:
            then.append(Point(line.buffer_bytes, shares[0], min(shares), max(shares)))
    here = tuple(
        Point(row["cache_bytes"], cpu_share(row), is_given=_is_fitted(row)) for row in found.rows("buffer")
    )
    return curves(
        "CPU efficiency, by the size of the buffer",
        "The share of the wall time in which the job works.",
        (Series("published", tuple(then), is_published=True), Series("replayed", here)),
        _BUFFER,
        Column("cpu_share", "CPU efficiency", "share"),
        is_log_x=True,
        from_zero=True,
    )


def _zigzag_figure(found: Results) -> Figure:
    shown, now_ns = [], 0.0
    work_ns = found.model["work_ns"] / found.model["n_baskets"]
    for entry, offset, size in found.model["shown"]:
        now_ns += published.LATENCY_NS + size / published.BYTES_PER_S * 1e9 + work_ns
        shown.append(Read(entry, offset, size, round(now_ns)))
    return offsets(
        "The zigzag: where the first reads are in the file",
        "Without a buffer. What one event needs lies over a span: a basket was written when it was full.",
        shown,
        file_bytes=max(read.offset + read.n_bytes for read in shown),
        n_entries=max(read.entry for read in shown) + 1,
    )


def _span_figure(found: Results) -> Figure:
    series = [
        Series(
            f"baskets of {value / 1000:.0f} kB",
            tuple(
                Point(row["cache_bytes"], row["read_bytes"]) for row in found.rows("baskets") if row["value"] == value
            ),
        )
        for value in BASKETS
    ]  # fmt: skip
    return curves(
        "The test that decides: baskets of other sizes",
        "The span grows with the baskets, and peak and fall go with it.",
        series,
        _BUFFER,
        Column("read_bytes", "Bytes moved", "bytes"),
        is_log_x=True,
        is_log_y=True,
    )


def _buffer_table(found: Results) -> Table:
    told = {line.buffer_bytes: line for line in published.TABLE}
    rows = []
    for row in found.rows("buffer"):
        line = told.get(row["cache_bytes"])
        band = [line.volume_gb, line.retest_gb] if line else [None, None]
        rows.append(
            (
                _size(row["cache_bytes"]),
                GIVEN if line else "found",
                # As published: three digits would round one of them.
                *(None if gb is None else f"{gb:g} GB" for gb in band),
                row["read_bytes"],
                row["n_requests"],
                row["first_bytes"],
                line.cpu_share if line else None,
                line.retest_share if line else None,
                *_pace(found, row),
            )
        )
    return Table(
        "The buffer, published and replayed",
        (
            _BUFFER_TEXT,
            Column("kind", "Ours is"),
            Column("published_gb", "Moved, published"),
            Column("retest_gb", "Moved, retest"),
            Column("read_bytes", "Moved, here", "bytes"),
            Column("n_requests", "Reads, here", "count"),
            Column("first_bytes", "If only the beginning were buffered", "bytes"),
            Column("published_cpu", "CPU, published", "share"),
            Column("retest_cpu", "CPU, retest", "share"),
            *_pace_columns(", here"),
        ),
        tuple(rows),
    )


def _span_table(found: Results) -> Table:
    rows = []
    studies = {
        "baskets": "bytes of a basket",
        "branches": "branches",
        "seeds": "seed",
        "flushed": "bytes of a cluster",
    }
    for study, what in studies.items():
        for value in dict.fromkeys(row["value"] for row in found.rows(study)):
            of = found.rows(study, value=value)
            top = peak(of)
            rows.append(
                (
                    what,
                    value,
                    of[0]["span_bytes"],
                    _size(top["cache_bytes"]),
                    top["read_bytes"],
                    _size(fall_bytes(of)) if fall_bytes(of) else None,
                )
            )
    return Table(
        "What moves the peak",
        (
            Column("changed", "Changed"),
            Column("value", "To", "count"),
            Column("span_bytes", "Span of an event", "bytes"),
            Column("peak_buffer", "Peak at"),
            Column("peak_bytes", "Moved there", "bytes"),
            Column("fall_buffer", "A tenth of it from"),
        ),
        tuple(rows),
        (
            "Span: the median over the events of how far the baskets in hand lie apart.",
            "The buffers that were tried are powers of two, and 10 MiB.",
        ),
    )


def _real_tables(found: Results) -> tuple[Table, ...]:
    rows = found.rows("real")
    if not rows:
        return ()
    return (
        Table(
            "A real file without flushes, read and replayed",
            (
                _BUFFER_TEXT,
                Column("n_requests", "Reads, for real", "count"),
                Column("replayed_requests", "Reads, replayed", "count"),
                Column("read_bytes", "Moved, for real", "bytes"),
                Column("replayed_bytes", "Moved, replayed", "bytes"),
            ),
            tuple(
                (
                    _size(row["cache_bytes"]),
                    *(
                        row[key]
                        for key in ("n_requests", "replayed_requests", "read_bytes", "replayed_bytes")
                    ),
                )
                for row in rows
            ),
            (
                f"ROOT wrote it: 300 branches, baskets of 8 kB; all {rows[0]['payload_bytes'] / 1e6:.0f} MB are read.",
            ),
        ),
    )


def _today_table(found: Results) -> Table:
    rows = [
        (row["strategy"], order, row["read_bytes"], row["n_requests"], *_pace(found, row))
        for order, study in (("by entry", "today"), ("of the file", "in the order of the file"))
        for row in found.rows(study)
    ]
    return Table(
        "The same job today",
        (
            Column("strategy", "Strategy"),
            Column("order", "Order"),
            Column("read_bytes", "Moved", "bytes"),
            Column("n_requests", "Requests", "count"),
            *_pace_columns(),
        ),
        tuple(rows),
    )


def _local_table(found: Results) -> Table:
    rows = [
        (f"local disk, the kernel reads {_size(row['read_ahead_bytes'])} ahead", row)
        for row in found.rows("disk")
    ]
    rows.append(("local disk, the file was read once before", found.row("read once before")))
    network = found.row("buffer", cache_bytes=128 * MIB)
    return Table(
        "Controls: a local disk",
        (
            Column("where", "Where"),
            Column("n_seeks", "Seeks", "count"),
            Column("device_bytes", "From the disk", "bytes"),
            *_pace_columns(),
        ),
        (
            *((where, row["n_seeks"], row["device_bytes"], *_pace(found, row)) for where, row in rows),
            ("network, buffer of 128 MiB", None, None, *_pace(found, network)),
        ),
        (
            f"A seek takes {SEEK_NS / 1e6:g} ms, what lies together comes at {DISK_BYTES_PER_S / 1e6:g} MB/s: ours.",
        ),
    )


def _lines_table(found: Results) -> Table:
    rows: list[tuple[Any, ...]] = [
        (
            f"{row['n_jobs']} job{'s' * (row['n_jobs'] > 1)} on one line of 1 Gb/s",
            _size(row["cache_bytes"]),
            *_pace(found, row),
        )
        for row in found.rows("jobs")
    ]
    rows += [
        (f"a read takes {row['latency_ns'] / 1e6:g} ms", _size(row["cache_bytes"]), *_pace(found, row))
        for row in found.rows("latency")
    ]
    return Table(
        "Controls: other lines",
        (
            Column("line", "Line"),
            _BUFFER_TEXT,
            *_pace_columns(" of each"),
        ),
        tuple(rows),
        ("Jobs are alike, begin together, and share the line evenly.",),
    )
