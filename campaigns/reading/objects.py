"""Vectors of objects, read as programs of the laboratory (docs/lab/runners.md): ``objects.py WAY run|identify``.

WAY is ``arrowroot``, ``limit``, or one of ROOT's: ``ttreereader``, ``getentry``, ``views``. The command of a job is one
word: ``all`` members of each object, or ``pt``. Checksums are of members (``jets.pt``), whatever the layout calls them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from native import N_PASSES, N_PASSES_OF_ALL, N_PASSES_OF_PAGES, Way, limit, told, versions, with_entries

from arrowroot_lab.runners.process_line import serve

Job = dict[str, Any]
Answer = dict[str, Any]

COLLECTIONS = ("jets", "muons", "electrons", "tracks", "clusters")
MEMBERS = (
    "pt", "eta", "phi", "m", "d0", "z0", "chi2", "iso", "e", "px", "py", "pz", "cov", "id", "charge", "nhits", "status",
    "flags", "t", "cls",
)  # fmt: skip


def identify(_: Job) -> Answer:
    """Say what this is."""
    can = ["program", "entries", "strategy:auto", *([] if WAY == "limit" else ["checksum"])]
    return {"name": WAY, "versions": versions("arrowroot" if WAY == "arrowroot" else "root"), "can": can}


def run(job: Job) -> Answer:
    """Read the members of a job's command."""
    (what,), (url,) = job["command"], job["urls"]
    layout = Path(url).stem.split("_")[1]
    if WAY == "arrowroot":
        return by_arrowroot(job, layout, what)
    if WAY == "limit":
        return by_limit(job, layout, what)
    asked = {
        "file": url, "tree": job["table"], "threads": 1, "entries": job.get("entries"), "engine": WAY, "layout": layout,
        "what": what, "warm_up": job.get("warm_up") or "",
    }  # fmt: skip
    answer = told(Way("read_aod"), [], json.dumps(asked))
    if not job.get("wants_checksum"):
        answer.pop("checksum", None)
    return answer


def members(what: str) -> list[str]:
    """Return the names of the members that are read."""
    return [f"{name}.{member}" for name in COLLECTIONS for member in (MEMBERS if what == "all" else (what,))]


def by_arrowroot(job: Job, layout: str, what: str) -> Answer:
    """The branches or fields as a table, and again, as the laboratory's own runner reads them."""
    from arrowroot_lab.runners.arrowroot_runner import table

    names = members(what)
    columns = {"split99": [f"{name.partition('.')[0]}/{name}" for name in names], "rntuple": names}.get(
        layout
    )
    answer = table({**job, "columns": columns})  # unsplit objects are read as they are
    sums = {name.rpartition("/")[2]: one for name, one in answer.get("checksum", {}).items()}
    if what == "pt":
        sums = {name: one for name, one in sums.items() if name.endswith(".pt")}
    return answer | ({"checksum": sums} if sums else {})


def by_limit(job: Job, layout: str, what: str) -> Answer:
    """The baskets of the branches, or the pages of the fields."""
    path = Path(job["urls"][0])
    about = json.loads((path.parent / "about" / "columns.json").read_text())
    if layout == "rntuple":
        answer = told(Way("page_limit"), [str(path), job["table"], str(N_PASSES_OF_PAGES), *members(what)])
        return with_entries(answer, about, None)
    names = [name for name in about["baskets"] if what == "all" or "." not in name or name.endswith(".pt")]
    passes = N_PASSES_OF_ALL if what == "all" else N_PASSES
    return limit(job, about, names, passes)


if __name__ == "__main__":
    WAY = sys.argv[1]
    serve({"identify": identify, "run": run})
