"""ROOT as the jobs of experiments use it: whole events by ``TTree::GetEntry``, one after the other.

``root_events.py --cache=BYTES [--told] run|identify`` is a runner of the laboratory (docs/lab/runners.md). Classes
without dictionaries are those that the file describes. ``--told``: the tree cache is told which entries are wanted.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

_LOOP = """
#include <TTree.h>
#include <time.h>
#include <vector>
namespace layouts {
inline long long cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1000000000ll * now.tv_sec + now.tv_nsec;
}
Long64_t read(TTree& tree, const std::vector<Long64_t>& entries, Long64_t work_ns) {
  Long64_t bytes = 0;
  for (auto entry : entries) {
    const auto n = tree.GetEntry(entry);
    if (n <= 0) return -1 - entry;
    bytes += n;
    if (work_ns > 0) for (const auto stop = cpu_ns() + work_ns; cpu_ns() < stop;) {}
  }
  return bytes;
}
}
"""
ARGUMENTS = [word for word in sys.argv[1:] if word.startswith("--")]
CACHE_BYTES = int(next((word.partition("=")[2] for word in ARGUMENTS if word.startswith("--cache=")), "0"))
IS_TOLD = "--told" in ARGUMENTS


def root() -> Any:
    """The module ROOT, whose wheel warns at each import that it is new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ROOT
    # It says that classes have no dictionaries.
    ROOT.gErrorIgnoreLevel = ROOT.kError
    # Without this, TFile::Open maps root://127.0.0.1 to the local file without saying so.
    ROOT.gEnv.SetValue("Path.ForceRemote", 1)
    return ROOT


def identify(_: dict[str, Any]) -> dict[str, Any]:
    """Say what this is."""
    versions = {"ROOT": str(root().gROOT.GetVersion()), "python": platform.python_version()}
    can = ["read", "entries", "entry_range", "work", "strategy:auto"]
    return {"name": "ROOT", "versions": versions, "can": can}


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Read the events."""
    if (
        job.get("columns")
        or job.get("threads", 1) > 1
        or len(job["urls"]) != 1
        or job.get("kind", "read") != "read"
    ):
        return {"unsupported": "whole events of one file are read here, by one thread"}
    module = root()
    module.gInterpreter.Declare(_LOOP)
    # The first call compiles, and is not timed.
    tiny = module.TTree("T", "")
    tiny.SetDirectory(module.nullptr)
    module.layouts.read(tiny, module.std.vector("Long64_t")(), 0)
    if job.get("warm_up"):
        module.TFile.Open(job["warm_up"]).Close()
    wanted = [int(line) for line in Path(job["entries"]).read_text().split()] if job.get("entries") else None
    if job.get("barrier"):
        # Each of several workers waits here for the others.
        Path(job["barrier"]["ready"]).touch()
        os.close(os.open(job["barrier"]["go"], os.O_RDONLY))
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    file = module.TFile.Open(job["urls"][0])
    if not file or file.IsZombie():
        return {"error": f"TFile::Open: {job['urls'][0]}"}
    tree = file.Get(job["table"])
    if not tree or not tree.InheritsFrom("TTree"):
        return {"unsupported": "this is no TTree"}
    part = range(*(job.get("entry_range") or (0, tree.GetEntries())))
    entries = module.std.vector("Long64_t")(part if wanted is None else wanted)
    tree.SetCacheSize(CACHE_BYTES)
    if CACHE_BYTES:
        tree.AddBranchToCache("*", True)
        tree.StopCacheLearningPhase()
    if IS_TOLD and wanted is not None:
        # TTreeCache::FillBuffer looks at the TEventList of a tree, and at no TEntryList (6.40).
        told = module.TEventList("told", "")
        for entry in wanted:
            told.Enter(entry)
        tree.SetEventList(told)
    open_ns = time.perf_counter_ns() - wall
    n_bytes = module.layouts.read(tree, entries, int(job.get("work_ns_per_entry") or 0))
    if n_bytes < 0:
        return {"error": f"TTree::GetEntry({-1 - n_bytes}) reads nothing"}
    counters = {"n_reads": int(file.GetReadCalls()), "n_bytes": int(file.GetBytesRead())}
    answer = {"cpu_ns": time.process_time_ns() - cpu, "wall_ns": time.perf_counter_ns() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    device = {"n_bytes": 512 * resource.getrusage(resource.RUSAGE_SELF).ru_inblock}
    return answer | {
        "n_entries": len(entries), "open_ns": open_ns, "values_bytes": int(n_bytes), "peak_rss_bytes": peak,
        "counters": {"store": counters, "device": device},
    }  # fmt: skip


if __name__ == "__main__":
    given = json.load(sys.stdin)
    said = {"identify": identify, "run": run}.get(sys.argv[-1], lambda _: {"unsupported": "no such verb"})(
        given
    )
    print("\n" + json.dumps(said))  # noqa: T201 - the process line
    sys.stdout.flush()
    # Tearing ROOT down takes time, and may crash.
    os._exit(0)
