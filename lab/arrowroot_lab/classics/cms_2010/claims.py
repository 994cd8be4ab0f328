"""What the page of CMS 2010 states, and whether results bear it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.results import Claim

from . import published
from .measuring import (
    CASES,
    COALESCED,
    N_JOBS,
    TODAY,
    WHOLE_IMPROVED,
    coalesced_mib,
    crossing,
    seconds,
    wall_s,
)

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results


def claims(found: Results) -> list[Claim]:
    """Return what the page states, each with whether the results bear it out."""
    scale = found.scale
    told = {case: seconds(found, "model", case) for case in CASES}
    original, lazy = found.row("model", case="original"), found.row("model", case="lazy download")
    improved, vectors = found.row("model", case="improved"), found.row("model", case="vector reads")
    coalesced = found.row("model", case=COALESCED)
    wanted = {case: predicted * scale for case, predicted in published.PREDICTED_S.items()}
    ral = published.RAL

    real = {(row["part"], row["case"]): row for row in found.rows("real")}

    def is_near(value: float, other: float, share: float) -> bool:
        return abs(value / other - 1) <= share

    return [
        Claim(
            "The original makes a read for each basket, and moves what it asks for, as published.",
            original["n_requests"] == round(ral["original"].n_reads * scale)
            and is_near(original["read_bytes"], ral["original"].mib * published.MIB * scale, 1e-6),
            is_given=True,
        ),
        Claim(
            "Lazy download makes 10 reads and moves the whole file, as published.",
            lazy["n_requests"] == published.N_SEGMENTS
            and is_near(lazy["read_bytes"], ral["lazy download"].mib * published.MIB * scale, 1e-6),
            is_given=True,
        ),
        Claim(
            "The improved job makes 22,416 reads and 29 vector reads, less than half of the original, as published.",
            improved["n_requests"] == round(ral["improved"].n_reads * scale)
            and improved["n_requests"] + vectors["n_requests"] < original["n_requests"] / 2
            and vectors["n_requests"] == published.N_VECTOR_READS,
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "All four predicted times come out within 1 %, and the part of a second that the source drops.",
            all(abs(told[case] - wanted[case]) <= 0.01 * wanted[case] + 1.0 * scale for case in CASES),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "The order is that of the source: original, improved, lazy download, vector reads.",
            told["original"] > told["improved"] > told["lazy download"] > told["vector reads"],
            is_given=True,
        ),
        Claim(
            "Original, improved and lazy download are as 3.7 : 1.85 : 1.",
            is_near(told["original"] / told["lazy download"], 3.7, 0.02)
            and is_near(told["improved"] / told["lazy download"], 1.85, 0.02),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "With its CPU time the job's wall time falls by 8 %, while its reading becomes four times as fast.",
            0.06 < 1 - wall_s(found, "lazy download") / wall_s(found, "original") < 0.1
            and 4 < seconds(found, "work", "original") / seconds(found, "work", "lazy download") < 5,
            is_given=True,
        ),
        Claim(
            "Coalescing raises the bytes read, published from 541 to 806 MiB: where as few reads are left as were "
            "counted, they rise here, too, to within 15 % of that.",
            is_near(coalesced["n_ranges"], published.N_COALESCED * scale, 0.01)
            and coalesced_mib(found) > 1.3 * ral["original"].mib
            and is_near(coalesced_mib(found), ral["improved"].mib, 0.15),
            needs_size=True,
        ),
        Claim(
            "The improved job is no slower than the original on RAL's line.",
            wall_s(found, "improved") < wall_s(found, "original"),
        ),
        Claim(
            "Wall times of the jobs that tell RAL's line are within 3 % of the published ones.",
            all(
                is_near(wall_s(found, case), ral[case].wall_s * scale, 0.03)
                for case in ("original", "lazy download")
            ),
            is_given=True,
        ),
        Claim(
            "On that line the wall time of the improved job, which does not tell it, is within 3 % of the published.",
            is_near(wall_s(found, "improved"), ral["improved"].wall_s * scale, 0.03),
        ),
        Claim(
            "From one to eight jobs on a line of 100 MB/s, lazy download beats original and improved.",
            all(
                seconds(found, "jobs", "lazy download", n_jobs=n)
                < min(
                    seconds(found, "jobs", "original", n_jobs=n),
                    seconds(found, "jobs", WHOLE_IMPROVED, n_jobs=n),
                )
                for n in range(1, 9)
            ),
        ),
        Claim(
            "Lazy download stops winning between 32 and 64 jobs.",
            crossing(found, "lazy download", "original") == 64,
        ),
        Claim(
            "Today's auto beats all of them, for any number of jobs.",
            all(
                seconds(found, "jobs", TODAY, n_jobs=n) < seconds(found, "jobs", case, n_jobs=n)
                for n in N_JOBS
                for case in ("original", WHOLE_IMPROVED, "lazy download")
            ),
        ),
        Claim(
            "Today's auto needs less than 300 requests, and reads next to nothing besides.",
            found.row("model", case=TODAY)["n_requests"] < 300
            and found.row("model", case=TODAY)["overhead_bytes"] < 0.02 * found.model["asked_bytes"],
        ),
        Claim(
            "For real, a tenth of it: original, lazy download and tree cache are as 8 : 2.2 : 1, auto is no slower.",
            bool(real)
            and is_near(real[0.1, "original"]["wall_ns"] / real[0.1, "tree cache"]["wall_ns"], 8, 0.1)
            and is_near(real[0.1, "lazy download"]["wall_ns"] / real[0.1, "tree cache"]["wall_ns"], 2.2, 0.1)
            and real[0.1, TODAY]["wall_ns"] < 1.02 * real[0.1, "tree cache"]["wall_ns"],
        ),
        Claim(
            "For real, as replayed: lazy download makes 10 reads and moves twice what is asked for.",
            bool(real)
            and real[0.1, "lazy download"]["n_requests"] == lazy["n_requests"]
            and 2 < real[0.1, "lazy download"]["read_bytes"] / real[0.1, "original"]["read_bytes"] < 2.3,
        ),
        Claim(
            "For real, a hundredth with its CPU time: no pair with tree cache or auto is slower than the original.",
            bool(real)
            and all(
                len(real[0.01, case]["ratios"]) >= 3
                and max(real[0.01, case]["ratios"]) < 1
                and real[0.01, case]["n_requests"] < real[0.01, "original"]["n_requests"] / 2
                for case in ("tree cache", TODAY)
            ),
        ),
        Claim(
            "CERN and RAL have the same counts, and each read took 2.5 times as long at CERN.",
            all(
                (one.n_reads, one.mib, one.n_vector_reads)
                == (published.RAL[case].n_reads, published.RAL[case].mib, published.RAL[case].n_vector_reads)
                and 2.4 < one.read_s / published.RAL[case].read_s < 2.7
                for case, one in published.CERN.items()
            ),
            is_given=True,
        ),
        Claim(
            "Reads that reached the storage are the requested ones less those that the cache answered, in counts.",
            all(asked - hits == reads for (asked, hits, reads), _ in published.IDENTITIES.values()),
            is_given=True,
        ),
        Claim(
            "So are the published volumes, up to their last digit.",
            all(abs(asked - hits - read) < 0.01 for _, (asked, hits, read) in published.IDENTITIES.values()),
            is_given=True,
        ),
        Claim(
            "The published wall time at RAL fell by 8 %, and that of FNAL by 17 s.",
            round(100 * (1 - ral["lazy download"].wall_s / ral["original"].wall_s)) == 8
            and round(published.FNAL_WALL_S["original"] - published.FNAL_WALL_S["improved"]) == 17,
            is_given=True,
        ),
    ]
