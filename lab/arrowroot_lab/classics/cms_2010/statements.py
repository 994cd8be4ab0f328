"""What the page of CMS 2010 states, each with what must be true of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.study import is_near

from . import published
from .measuring import CASES, N_JOBS, TODAY, WHOLE_IMPROVED
from .published import CERN, MIB, RAL, THEN

if TYPE_CHECKING:
    from arrowroot_lab.classics.study import Statement

    from .found import Cms2010Results

STATEMENTS: tuple[Statement[Cms2010Results], ...] = (
    ("given", "The original makes a read for each basket, and moves what it asks for, as published.",
     lambda of: of.original["n_requests"] == round(RAL["original"].n_reads * of.scale)
     and is_near(of.original["read_bytes"], RAL["original"].mib * MIB * of.scale, 1e-6)),
    ("given", "Lazy download makes 10 reads and moves the whole file, as published.",
     lambda of: of.lazy["n_requests"] == published.N_SEGMENTS
     and is_near(of.lazy["read_bytes"], RAL["lazy download"].mib * MIB * of.scale, 1e-6)),
    ("given at size",
     "The improved job makes 22,416 reads and 29 vector reads, less than half of the original, as published.",
     lambda of: of.improved["n_requests"] == round(RAL["improved"].n_reads * of.scale)
     and of.improved["n_requests"] + of.vectors["n_requests"] < of.original["n_requests"] / 2
     and of.vectors["n_requests"] == published.N_VECTOR_READS),
    ("given at size", "All four predicted times come out within 1 %, and the part of a second that the source drops.",
     lambda of: all(abs(of.seconds_of[case] - THEN["predicted_s"][case]) <= 0.01 * THEN["predicted_s"][case] + 1.0
                    for case in CASES)),
    ("given", "The order is that of the source: original, improved, lazy download, vector reads.",
     lambda of: of.original["wait_ns"] > of.improved["wait_ns"] > of.lazy["wait_ns"] > of.vectors["wait_ns"]),
    ("given at size", "Original, improved and lazy download are as 3.7 : 1.85 : 1.",
     lambda of: is_near(of.original["wait_ns"] / of.lazy["wait_ns"], 3.7, 0.02)
     and is_near(of.improved["wait_ns"] / of.lazy["wait_ns"], 1.85, 0.02)),
    ("given", "With its CPU time the job's wall time falls by 8 %, while its reading becomes four times as fast.",
     lambda of: 0.06 < 1 - of.wall_s("lazy download") / of.wall_s("original") < 0.1
     and 4 < of.seconds("work", "original") / of.seconds("work", "lazy download") < 5),
    ("found at size",
     ("Coalescing raises the bytes read, published from 541 to 806 MiB: where as few reads are left as "
      "were counted, they rise here, too, to within 15 % of that."),
     lambda of: is_near(of.coalesced["n_ranges"], published.N_COALESCED * of.scale, 0.01)
     and of.coalesced_mib > 1.3 * RAL["original"].mib and is_near(of.coalesced_mib, RAL["improved"].mib, 0.15)),
    ("found", "The improved job is no slower than the original on RAL's line.",
     lambda of: of.wall_s("improved") < of.wall_s("original")),
    ("given", "Wall times of the jobs that tell RAL's line are within 3 % of the published ones.",
     lambda of: all(is_near(of.wall_s(case), RAL[case].wall_s * of.scale, 0.03)
                    for case in ("original", "lazy download"))),
    ("found",
     "On that line the wall time of the improved job, which does not tell it, is within 3 % of the published.",
     lambda of: is_near(of.wall_s("improved"), RAL["improved"].wall_s * of.scale, 0.03)),
    ("found", "From one to eight jobs on a line of 100 MB/s, lazy download beats original and improved.",
     lambda of: all(of.seconds("jobs", "lazy download", n_jobs=n) < of.seconds("jobs", case, n_jobs=n)
                    for n in range(1, 9) for case in ("original", WHOLE_IMPROVED))),
    ("found", "Lazy download stops winning between 32 and 64 jobs.",
     lambda of: of.crossing("lazy download", "original") == 64),
    ("found", "Today's auto beats all of them, for any number of jobs.",
     lambda of: all(of.seconds("jobs", TODAY, n_jobs=n) < of.seconds("jobs", case, n_jobs=n)
                    for n in N_JOBS for case in ("original", WHOLE_IMPROVED, "lazy download"))),
    ("found", "Today's auto needs less than 300 requests, and reads next to nothing besides.",
     lambda of: of.auto["n_requests"] < 300 and of.auto["overhead_bytes"] < 0.02 * of.model["asked_bytes"]),
    ("found", "For real, a tenth of it: original, lazy download and tree cache are as 8 : 2.2 : 1, auto is no slower.",
     lambda of: bool(of.real)
     and is_near(of.real[0.1, "original"]["wall_ns"] / of.real[0.1, "tree cache"]["wall_ns"], 8, 0.1)
     and is_near(of.real[0.1, "lazy download"]["wall_ns"] / of.real[0.1, "tree cache"]["wall_ns"], 2.2, 0.1)
     and of.real[0.1, TODAY]["wall_ns"] < 1.02 * of.real[0.1, "tree cache"]["wall_ns"]),
    ("found", "For real, as replayed: lazy download makes 10 reads and moves twice what is asked for.",
     lambda of: bool(of.real) and of.real[0.1, "lazy download"]["n_requests"] == of.lazy["n_requests"]
     and 2 < of.real[0.1, "lazy download"]["read_bytes"] / of.real[0.1, "original"]["read_bytes"] < 2.3),
    ("found",
     "For real, a hundredth with its CPU time: no pair with tree cache or auto is slower than the original.",
     lambda of: bool(of.real)
     and all(len(of.real[0.01, case]["ratios"]) >= 3 and max(of.real[0.01, case]["ratios"]) < 1
             and of.real[0.01, case]["n_requests"] < of.real[0.01, "original"]["n_requests"] / 2
             for case in ("tree cache", TODAY))),
    ("given", "CERN and RAL have the same counts, and each read took 2.5 times as long at CERN.",
     lambda _: all(one[:3] == RAL[case][:3] and 2.4 < one.read_s / RAL[case].read_s < 2.7
                   for case, one in CERN.items())),
    ("given", "Reads that reached the storage are the requested ones less those that the cache answered, in counts.",
     lambda _: all(asked - hits == reads for asked, hits, reads, *_ in THEN["identities"].values())),
    ("given", "So are the published volumes, up to their last digit.",
     lambda _: all(abs(asked - hits - read) < 0.01 for *_, asked, hits, read in THEN["identities"].values())),
    ("given", "The published wall time at RAL fell by 8 %, and that of FNAL by 17 s.",
     lambda _: round(100 * (1 - RAL["lazy download"].wall_s / RAL["original"].wall_s)) == 8
     and round(THEN["fnal_wall_s"]["original"] - THEN["fnal_wall_s"]["improved"]) == 17),
)  # fmt: skip
