"""What the page of Liverpool 2008 states, each with what must be true of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .found import fall_bytes, peak, shares
from .published import KIB, MIB

if TYPE_CHECKING:
    from arrowroot_lab.classics.study import Statement

    from .found import Liverpool2008Results

STATEMENTS: tuple[Statement[Liverpool2008Results], ...] = (
    ("given", "The volume rises from 4 kB to 128 kB, 1 MB and 10 MB, and falls to 64 MB and 128 MB.",
     lambda of: of.by_size[4 * KIB]["read_bytes"] < of.by_size[128 * KIB]["read_bytes"]
     < of.by_size[MIB]["read_bytes"] < of.by_size[10 * MIB]["read_bytes"]
     and of.by_size[10 * MIB]["read_bytes"] > 5 * of.by_size[64 * MIB]["read_bytes"]
     and of.by_size[64 * MIB]["read_bytes"] > of.by_size[128 * MIB]["read_bytes"]),
    ("given", "Volumes are off the published bands by a factor of less than 1.3 in the mean.",
     lambda of: of.deviation < 1.3),
    ("found", "256 kB is worse than 128 kB, as the retest said.",
     lambda of: of.by_size[256 * KIB]["read_bytes"] > of.by_size[128 * KIB]["read_bytes"]),
    ("found", "The peak lies between 2 and 8 MiB, below the published sizes of 10 MB and more.",
     lambda of: 2 * MIB <= of.top["cache_bytes"] <= 8 * MIB),
    ("found", "Less than a tenth of the peak moves from 32 MiB on: half of 64 MB would have done.",
     lambda of: of.fall == 32 * MIB),
    ("given", "CPU shares go the way of the published ones: down to 10 MB, and up again beyond those of 4 kB.",
     lambda of: of.cpu_shares[128 * KIB] > of.cpu_shares[MIB] > of.cpu_shares[10 * MIB] < of.cpu_shares[64 * MIB]
     < of.cpu_shares[128 * MIB] > of.cpu_shares[4 * KIB] > of.cpu_shares[128 * KIB]),
    ("given", "Each published CPU share is met within 15 points, or lies between first table and retest.",
     lambda of: all(min(abs(of.cpu_shares[size] - share) for share in shares(line)) < 0.15
                    for size, line in of.told.items())),
    ("given", "If only the beginning of the file were buffered, no more would move than is asked for and one buffer.",
     lambda of: all(row["first_bytes"] <= of.model["asked_bytes"] + row["cache_bytes"] for row in of.buffers)
     and of.first_bytes < 1.0e9 * of.scale + 135e6),
    ("given", "So the second guess cannot explain 174 GB of a file of 1.5 GB, and the first can.",
     lambda of: 100 * of.first_bytes / of.scale / 1e9 < 174
     and of.by_size[10 * MIB]["read_bytes"] > 100 * of.first_bytes),
    ("found", "Larger baskets move peak and fall to larger buffers.",
     lambda of: of.grows("baskets", lambda rows: peak(rows)["cache_bytes"])),
    ("found", "More branches move the peak to larger buffers.",
     lambda of: of.grows("branches", lambda rows: peak(rows)["cache_bytes"])),
    ("found", "The span grows with both of them, and the peak lies within a factor of 8 below it.",
     lambda of: of.grows("baskets", lambda rows: rows[0]["span_bytes"])
     and of.grows("branches", lambda rows: rows[0]["span_bytes"])
     and all(1 <= rows[0]["span_bytes"] / peak(rows)["cache_bytes"] <= 8
             for study in ("baskets", "branches", "seeds") for rows in of.changed[study].values())),
    ("found", "Other seeds put the peak at the same buffer, with the same height within 15 %.",
     lambda of: len({peak(rows)["cache_bytes"] for rows in of.changed["seeds"].values()}) == 1
     and max(peak(rows)["read_bytes"] for rows in of.changed["seeds"].values())
     < 1.15 * min(peak(rows)["read_bytes"] for rows in of.changed["seeds"].values())),
    ("found", "Blocks of 128 kB with the same 16 MiB, of which the last used stay, move the file once.",
     lambda of: of.row("blocks")["read_bytes"] < 1.1 * of.model["file_bytes"]
     and of.by_size[16 * MIB]["read_bytes"] > 20 * of.model["file_bytes"]),
    ("found", "Flushing every 30 MB with the same baskets does not cure it.",
     lambda of: peak(of.changed["flushed"][30_000_000])["read_bytes"] > 50 * of.model["asked_bytes"]),
    ("found", "Today's auto moves next to nothing besides, and the job is busy for more than 90 % of the time.",
     lambda of: all(row["read_bytes"] < 1.6 * of.model["asked_bytes"] and of.cpu_share(row) > 0.9
                    for row in (of.auto, of.ordered))),
    ("found", "Of a real file each buffer makes the very reads that the replay says, of the very bytes.",
     lambda of: bool(of.real)
     and all((row["n_requests"], row["read_bytes"]) == (row["replayed_requests"], row["replayed_bytes"])
             for row in of.real)),
    ("found",
     "The real file has the rise and the fall, too: its peak is 100 times what is asked for, and 32 MiB end it.",
     lambda of: bool(of.real) and peak(of.real)["read_bytes"] > 100 * of.real[0]["payload_bytes"]
     and 0 < fall_bytes(of.real) <= 32 * MIB),
    ("found",
     ("Begun at its first basket, even a file half as large as the buffer moves several times: a jump back drops "
      "the buffer."),
     lambda of: all(3 < of.times(row) < 10 for row in of.rows("file"))),
    ("found", "On a local disk the job has less than a third of the rate of the largest buffer, as published less.",
     lambda of: of.disks[128 * KIB]["wall_ns"] > 3 * of.by_size[128 * MIB]["wall_ns"]),
    ("given", "Once the file was read, the page cache answers all, and the job never waits.",
     lambda of: of.row("read once before")["wait_ns"] == 0),
    ("found at size",
     "A kernel that reads 1 MB ahead changes next to nothing; from 8 MB on it helps, as it keeps what it read.",
     lambda of: of.disks[MIB]["wall_ns"] > 0.95 * of.disks[128 * KIB]["wall_ns"]
     and of.disks[128 * MIB]["wall_ns"] < of.disks[8 * MIB]["wall_ns"] < 0.5 * of.disks[128 * KIB]["wall_ns"]
     and all(row["device_bytes"] <= of.model["file_bytes"] for row in of.disks.values())),
    ("found", "One job is fastest with 128 MiB; where two or more share the line, 4 kB beats all, as it moves least.",
     lambda of: of.jobs[1, 128 * MIB]["wall_ns"] < of.jobs[1, 4 * KIB]["wall_ns"]
     and all(of.jobs[n, 4 * KIB]["wall_ns"] < row["wall_ns"]
             for (n, size), row in of.jobs.items() if n >= 2 and size != 4 * KIB)),
    ("found", "4 kB loses to 32 MiB where a read takes 5 ms or more, and wins where it takes 0.1 ms.",
     lambda of: of.latencies[5_000_000, 4 * KIB]["wall_ns"] > of.latencies[5_000_000, 32 * MIB]["wall_ns"]
     and of.latencies[100_000, 4 * KIB]["wall_ns"] < of.latencies[100_000, 32 * MIB]["wall_ns"]),
)  # fmt: skip
