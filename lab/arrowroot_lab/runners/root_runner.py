"""ROOT as an engine (docs/lab/runners.md), by PyROOT; the loops are C++, which cling compiles before the clock starts.

Usage: root_runner.py [--reader=ttreereader|getentry|rdataframe|rntuple] [--perfstats] [--prefetch] run|identify

In the order of entries a tree is read by TTree::GetEntry, else by TTreeReader, unless the reader says otherwise.
"""

from __future__ import annotations

import platform
import re
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from .part import Wanted
    from .process_line import Stopwatch, UnsupportedError, add_counters, begin, serve
else:
    from part import Wanted
    from process_line import Stopwatch, UnsupportedError, add_counters, begin, serve

if TYPE_CHECKING:
    from .process_line import Answer, Job

HERE = Path(__file__).resolve().parent
READER = next((word.partition("=")[2] for word in sys.argv if word.startswith("--reader=")), "ttreereader")
HAS_PERFSTATS = "--perfstats" in sys.argv
#: Names of ROOT's codecs in the settings of a copy.
CODECS = {"zlib": 1, "lzma": 2, "lz4": 4, "zstd": 5}
NUMBER = re.compile(
    r"(?:std::)?(?:(?:Float|Double|U?Int|U?Long64|U?Long|U?Short|U?Char|Bool)_t|u?int(?:8|16|32|64)_t|float|double|bool"
    r"|(?:unsigned |signed )?(?:char|short|int|long|long long)|unsigned)"
)
#: The figures of TTreePerfStats, as its getters are called; times are in seconds.
PERFSTATS = (
    "Nleaves", "BytesRead", "BytesReadExtra", "ReadCalls", "ReadaheadSize", "TreeCacheSize", "RealTime", "CpuTime",
    "DiskTime", "UnzipTime",
)  # fmt: skip


def root() -> Any:
    """The module ROOT, whose wheel warns at each import that it is new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ROOT
    ROOT.gErrorIgnoreLevel = ROOT.kError
    return ROOT


def version_of_wheel() -> str:
    """Return ROOT's own version, as 6.40.00, without importing it: that of its wheel says nothing to people."""
    found = find_spec("ROOT")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'ROOT'")
    text = (Path(found.origin).parent / "include" / "ROOT" / "RVersion.hxx").read_text(encoding="utf-8")
    major, minor, patch = map(int, re.findall(r"#define ROOT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))
    return f"{major}.{minor:02d}.{patch:02d}"


def identify(_: Job) -> Answer:
    """Say what this is."""
    can = ["read", "checksum", "entry_range", "strategy:auto", "strategy:direct"]
    if READER != "rdataframe":
        can += ["entries", "work"]
    if READER in ("ttreereader", "getentry"):
        can += ["order:entry", "cache_bytes", "strategy:treecache"]
    if READER != "rntuple":
        can.append("threads")
    if READER == "ttreereader" and not HAS_PERFSTATS:
        can.append("write")
    versions = {"ROOT": _version(), "python": platform.python_version()}
    return {"name": "ROOT", "versions": versions, "can": can}


def _version() -> str:
    """ROOT's own version; of one between releases, whose last number is odd, with its commit, 6.41.01+0123456789ab."""
    version, commit = (str(told) for told in (root().gROOT.GetVersion(), root().gROOT.GetGitCommit()))
    is_release = int(version.rpartition(".")[2]) % 2 == 0
    return version if is_release or not commit else f"{version}+{commit[:12]}"


def run(job: Job) -> Answer:
    """Read or copy the columns."""
    if job.get("strategy", "auto") not in ("auto", "direct", "treecache"):
        raise UnsupportedError(f"ROOT has no strategy {job['strategy']!r}")
    if job.get("options"):
        raise UnsupportedError(
            f"ROOT has no options of a strategy here, but {', '.join(job['options'])} are set"
        )
    module = root()
    # Without this, TFile::Open maps root://127.0.0.1 to the local file without saying so.
    module.gEnv.SetValue("Path.ForceRemote", 1)
    if "--prefetch" in sys.argv:
        module.gEnv.SetValue("TFile.AsyncPrefetching", 1)
    if job.get("strategy") == "direct":
        module.gEnv.SetValue("TTreeCache.Size", 0.0)
    for url in job["urls"]:
        check_scheme(module, url)
    if job.get("threads", 1) > 1:
        if READER == "rntuple":
            raise UnsupportedError("RNTupleReader reads with one thread")
        module.EnableImplicitMT(job["threads"])
    kind = job.get("kind", "read")
    if kind == "write":
        return write(module, job)
    if kind != "read":
        raise UnsupportedError(f"ROOT does not do {kind!r}")
    reading = {"rntuple": read_rntuples, "rdataframe": read_frame}.get(READER, read_trees)
    return reading(module, job)


def check_scheme(module: Any, url: str) -> None:
    """Raise UnsupportedError for what this ROOT has no plug-in for, as its wheel has none for HTTP."""
    if "://" not in url or url.startswith("file:"):
        return
    handler = module.gROOT.GetPluginManager().FindHandler("TFile", url)
    is_here = bool(handler) and handler.CheckPlugin() == 0 and handler.LoadPlugin() == 0
    if is_here:
        # As TPluginHandler looks for the constructor: that of ROOT::Deprecated::TWebFile (6.40) it does not find.
        name = str(handler.GetClass())
        made = module.TClass.GetClass(name)
        is_here = bool(made) and bool(made.GetMethodAny(name))
    if not is_here:
        raise UnsupportedError(f"this ROOT has no plug-in for {url.partition('://')[0]}://")


def new_pass(module: Any, loops: str, job: Job, more: str = "") -> Any:
    """Compile the loops, and return a pass that has what the job asks for."""
    sources = [(HERE / f"root_{name}.C").read_text(encoding="utf-8") for name in ("columns", loops)]
    if not module.gInterpreter.Declare("\n".join(["#pragma cling optimize(2)", *sources, more])):
        raise RuntimeError(f"cling does not compile root_{loops}.C")
    made = module.arrowroot_lab.Pass()
    for name in job.get("columns") or ():
        made.names.push_back(name)
    made.wants_checksum = bool(job.get("wants_checksum"))
    made.work_ns = int(job.get("work_ns_per_entry") or 0)
    return made


def opened(module: Any, url: str) -> Any:
    """An open file. Raises: RuntimeError if it is none."""
    file = module.TFile.Open(url)
    if not file or file.IsZombie():
        raise RuntimeError(f"TFile::Open: {url} cannot be opened")
    return file


def set_part(made: Any, part: tuple[int, int, Any]) -> None:
    """Say which entries of the file at hand are read."""
    made.begin, made.end, picked = part
    made.is_picked = picked is not None
    if picked is not None:
        made.picked.clear()
        made.picked.reserve(len(picked))
        for entry in picked.tolist():
            made.picked.push_back(entry)


def tree_of(file: Any, name: str) -> Any:
    """The tree of a file. Raises: UnsupportedError if it is an RNTuple."""
    key = file.FindKeyAny(name) if "/" not in name else None
    if key and "RNTuple" in str(key.GetClassName()):
        raise UnsupportedError(f"{name} is an RNTuple: root-rntuple and root-rdataframe read it")
    tree = file.Get(name)
    if not tree or not tree.InheritsFrom("TTree"):
        raise RuntimeError(f"{file.GetName()}: there is no tree {name}")
    return tree


def read_trees(module: Any, job: Job) -> Answer:
    """Read trees by TTreeReader or GetEntry, with ROOT's tree cache unless the strategy is "direct"."""
    wanted = Wanted(job)
    is_by_entry = READER == "getentry" or job.get("order") == "entry"
    made = new_pass(module, "entry" if is_by_entry else "reader", job)
    warm_up(module, job)
    first, counters = 0, {"n_reads": 0, "n_bytes": 0}
    details: dict[str, Any] = {}
    watch = begin(job)
    for url in job["urls"]:
        if wanted.is_over(first):
            break
        file = opened(module, url)
        tree = tree_of(file, job["table"])
        watch.opened()
        set_part(made, wanted.of_file(first, tree.GetEntries()))
        if job.get("strategy") == "direct":
            tree.SetCacheSize(0)
        elif job.get("cache_bytes") is not None:
            tree.SetCacheSize(job["cache_bytes"])
        stats = module.TTreePerfStats("perfstats", tree) if HAS_PERFSTATS else None
        if not module.arrowroot_lab.read(made, tree):
            raise UnsupportedError(str(made.problem))
        first += tree.GetEntries()
        # The file's own counts: those of TTreePerfStats leave out the reads that opening takes.
        counters["n_reads"] += int(file.GetReadCalls())
        counters["n_bytes"] += int(file.GetBytesRead())
        if stats:
            stats.Finish()
            details.setdefault("perfstats", []).append(
                {name: getattr(stats, f"Get{name}")() for name in PERFSTATS}
            )
        details["cache_bytes"] = int(tree.GetCacheSize())
        file.Close()
    return told(made, job, watch, {"store": counters}, details)


def warm_up(module: Any, job: Job) -> None:
    """Read a tree in memory: the first opening takes 50 ms for plug-ins, and cling compiles what is first called."""
    if job.get("warm_up"):
        opened(module, job["warm_up"]).Close()
    file = module.TMemFile("warm_up", "RECREATE")
    tree = module.TTree("T", "")
    numbers = module.std.vector("float")(2, 1.0)
    tree.Branch("x", numbers)
    for _ in range(3):
        tree.Fill()
    tiny = module.arrowroot_lab.Pass()
    tiny.end = 3
    if not module.arrowroot_lab.read(tiny, tree):
        raise RuntimeError(str(tiny.problem))
    file.Close()


def read_rntuples(module: Any, job: Job) -> Answer:
    """Read RNTuples by views; the strategy "direct" has no cluster cache."""
    wanted = Wanted(job)
    made = new_pass(module, "views", job)
    with tempfile.TemporaryDirectory() as directory:
        module.arrowroot_lab.warm_up(f"{directory}/tiny.root")
    first, counters = 0, {"n_reads": 0, "n_vector_reads": 0, "n_bytes": 0, "overhead_bytes": 0}
    if job.get("strategy") == "treecache":
        raise UnsupportedError("an RNTuple has no tree cache")
    watch = begin(job)
    for url in job["urls"]:
        if wanted.is_over(first):
            break
        ntuple = module.arrowroot_lab.Ntuple(job["table"], url, job.get("strategy") != "direct")
        watch.opened()
        set_part(made, wanted.of_file(first, ntuple.n_entries()))
        if not module.arrowroot_lab.read(made, ntuple):
            raise UnsupportedError(str(made.problem))
        first += ntuple.n_entries()
        names = {"nRead": "n_reads", "nReadV": "n_vector_reads", "szReadPayload": "n_bytes",
                 "szReadOverhead": "overhead_bytes"}  # fmt: skip
        for name, metric in names.items():
            counters[metric] += int(ntuple.count(name))
    counters["n_bytes"] += counters["overhead_bytes"]
    return told(made, job, watch, {"store": counters}, {})


def read_frame(module: Any, job: Job) -> Answer:
    """Read trees or RNTuples by RDataFrame. Types are looked up before the clock starts: its users write them down."""
    if job.get("order", "cluster") == "entry" or job.get("entries") or job.get("work_ns_per_entry"):
        raise UnsupportedError(
            "RDataFrame chooses the order itself, reads no list of entries, and does no work here"
        )
    n_threads = job.get("threads", 1)
    if job.get("entry_range") and n_threads > 1:
        raise UnsupportedError("RDataFrame reads a part of the entries with one thread only")
    files = module.std.vector("std::string")(job["urls"])
    names, types = frame_types(module.RDataFrame(job["table"], files), job.get("columns"))
    cases = "\n".join(
        f'  if (type == "{kind}") return frame.take<{kind}>(name);' for kind in sorted(set(types))
    )
    more = (
        "namespace arrowroot_lab { void take_as(Frame& frame, const std::string& name, const std::string& type) {\n"
        f'{cases}\n  throw std::runtime_error(name + ": it is of type " + type);\n}} }}'
    )
    made = new_pass(module, "frame", job, more)
    texts = module.std.vector("std::string")
    if job.get("warm_up"):
        file = opened(module, job["warm_up"])
        table = next(key.GetName() for key in file.GetListOfKeys())
        file.Close()
        module.RDataFrame(table, job["warm_up"]).Count().GetValue()
    watch = begin(job)
    frame = module.RDataFrame(job["table"], files)
    watch.opened()
    node = module.RDF.AsRNode(frame.Range(*job["entry_range"]) if job.get("entry_range") else frame)
    module.arrowroot_lab.read(made, node, max(1, n_threads), texts(names), texts(types))
    answer = told(made, job, watch, {}, {})
    if n_threads > 1:
        for checksum in answer.get("checksum", {}).values():
            del checksum["order"]  # threads take the entries in no order
    return answer


def frame_types(frame: Any, columns: list[str] | None) -> tuple[list[str], list[str]]:
    """Names and types of a frame's columns. Raises: UnsupportedError for what is neither numbers nor lists of them."""
    names = columns or [str(name) for name in frame.GetColumnNames()]
    types = [str(frame.GetColumnType(name)) for name in names]
    for name, kind in zip(names, types, strict=True):
        inner = kind
        for _ in range(2):
            match = re.fullmatch(
                r"(?:ROOT::)?(?:VecOps::)?RVec<\s*(.*?)\s*>|(?:std::)?vector<\s*(.*?)\s*>", inner
            )
            inner = (match[1] or match[2]) if match else inner
        if not NUMBER.fullmatch(inner):
            raise UnsupportedError(f"column {name}: it is of type {kind}")
    return names, types


def told(
    made: Any, job: Job, watch: Stopwatch, counters: dict[str, dict[str, int]], details: dict[str, Any]
) -> Answer:
    """The answer of a pass that is over."""
    if made.first_entry_ns:
        watch.first_entry(int(made.first_entry_ns))
    answer = watch.answer()
    # From here on nothing is timed.
    add_counters(answer["counters"], counters)
    digests = {str(name): made.digest(i) for i, name in enumerate(made.found)}
    answer |= {
        "n_entries": int(made.n_entries),
        "values_bytes": sum(int(digest.values_bytes) for digest in digests.values()),
        "details": details,
    }
    if job.get("wants_checksum"):
        answer["checksum"] = {
            name: {"n": int(digest.n), "sum": f"{int(digest.sum):016x}", "order": f"{int(digest.order):016x}"}
            for name, digest in digests.items()
        }
    return answer


def write(module: Any, job: Job) -> Answer:
    """Copy the columns by Snapshot."""
    if job.get("entries") or READER != "ttreereader":
        raise UnsupportedError("Snapshot copies a range of entries, not a list, and is the engine root's")
    options = snapshot_options(module, job.get("settings") or {})
    files = module.std.vector("std::string")(job["urls"])
    columns = job.get("columns")
    watch = begin(job)
    frame = module.RDataFrame(job["table"], files)
    watch.opened()
    node = frame.Range(*job["entry_range"]) if job.get("entry_range") else frame
    count = node.Count()
    names = module.std.vector("std::string")(columns or list(frame.GetColumnNames()))
    node.Snapshot(job["table"], job["out"], names, options)
    n_entries = int(count.GetValue())
    answer = watch.answer()
    add_counters(answer["counters"], {"written": {"n_bytes": Path(job["out"]).stat().st_size}})
    return answer | {"n_entries": n_entries}


def snapshot_options(module: Any, settings: dict[str, Any]) -> Any:
    """The settings of a copy as Snapshot takes them. Raises: UnsupportedError for those that it does not have."""
    options = module.RDF.RSnapshotOptions()
    for name, value in settings.items():
        if name == "layout" and value in ("ttree", "rntuple"):
            formats = module.RDF.ESnapshotOutputFormat
            options.fOutputFormat = formats.kTTree if value == "ttree" else formats.kRNTuple
        elif name == "compression" and str(value).partition(":")[0] in CODECS:
            codec, _, level = str(value).partition(":")
            options.fCompressionAlgorithm = CODECS[codec]
            options.fCompressionLevel = int(level or {"zlib": 1, "lzma": 7, "lz4": 4, "zstd": 5}[codec])
        elif name == "compression" and isinstance(value, int):
            options.fCompressionAlgorithm, options.fCompressionLevel = value // 100, value % 100
        elif name == "flush" and isinstance(value, int):
            options.fAutoFlush = value
        else:
            raise UnsupportedError(f"Snapshot has no setting {name} = {value!r}")
    return options


if __name__ == "__main__":
    serve({"run": run, "identify": identify})
