"""Writers as engines of the laboratory (docs/lab/runners.md): ``runner.py WRITER run|identify``.

The command of a job is ``CODEC LAYOUT REPETITIONS [objects KIND | buffers MB]``: ROOT's number of the codec, ``ttree``
or ``rntuple``, and how often it is written in one process, of which the least time counts. KIND is how lists of objects
are stored in a tree (``split``, ``member-wise``, ``object-wise``); ``records``, an RNTuple of these with the names of
the columns projected; ``maps`` and ``number-maps`` of texts and numbers; or ``variants``. The columns are those that
``data.py`` has made beside the dataset. The file goes to a file system in memory; that of the rehearsal is read back,
and compared with what was given. The clock starts when the columns are in memory, and stops when the file is closed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import data

from arrowroot_lab.runners.process_line import UnsupportedError, serve

#: It stands in another directory than this program, and in no package where there is no clone.
compiled = SimpleNamespace(**run_path(str(Path(__file__).resolve().parents[1] / "programs" / "compiled.py")))

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

Job = dict[str, Any]
Answer = dict[str, Any]

#: A file system in memory: peers do not sync what they write, so that a disk would compare promises.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - in directories of their own there
#: Bytes of one call where a file is written as it is.
PART_BYTES = 1 << 20


def least(repetitions: int, work: Callable[[], object]) -> dict[str, int]:
    """Return the least wall time and the least CPU time of some work."""
    found: dict[str, int] = {}
    for _ in range(repetitions):
        cpu_ns, wall_ns = time.process_time_ns(), time.perf_counter_ns()
        work()
        wall_ns = time.perf_counter_ns() - wall_ns
        for key, value in (("wall_ns", wall_ns), ("cpu_ns", time.process_time_ns() - cpu_ns)):
            found[key] = min(value, found.get(key, value))
    return found


def said(command: list[object], text: str = "") -> Answer:
    """Return the JSON that a program prints. Raises: RuntimeError with what it said if it fails."""
    done = subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"{Path(str(command[0])).name}: {(done.stderr or done.stdout).strip()[-300:]}")
    answer: Answer = json.loads(lines[-1])
    return answer


class Asked:
    """A job with its columns, and the file that is made."""

    def __init__(self, job: Job, out: Path) -> None:
        self.columns = data.known(Path(job["urls"][0]).parent / "columns")
        number, self.layout, repetitions, *more = job["command"]
        self.codec, self.repetitions = int(number), int(repetitions)
        told = dict(zip(more[::2], more[1::2], strict=True))
        self.objects: str | None = told.get("objects")
        self.buffers = int(told["buffers"]) * 1_000_000 if "buffers" in told else None
        self.threads, self.out = int(job.get("threads", 1)), out

    def arrow(self) -> pa.Table:
        """The columns as a table."""
        return data.as_table(self.columns)


def by_arrowroot(asked: Asked) -> Answer:
    """``arrowroot.write`` to memory and to the disk; then the file as it is, for the file system's own time."""
    import arrowroot as ar

    table = asked.arrow()
    layout: ar.Layout | str = asked.layout
    if asked.objects:
        table = data.as_kind(table, asked.objects)
    if asked.objects == "records":
        layout = ar.Layout(asked.layout, projections="flat")
    elif asked.objects in ("split", "member-wise", "object-wise"):
        layout = ar.Layout(
            split=99 if asked.objects == "split" else 0, memberwise=asked.objects == "member-wise"
        )
    options: dict[str, Any] = {"compression": asked.codec or None, "n_threads": asked.threads}
    if asked.buffers is not None:
        options["buffers"] = asked.buffers

    def write(path: Path, table: pa.Table = table) -> None:
        path.unlink(missing_ok=True)
        ar.write(f"{path}:T", table, layout=layout, **options)

    warm = asked.out.with_suffix(".warm.root")
    write(warm, table.slice(0, 1).select([0]))
    warm.unlink()
    # The peak of memory begins anew.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before_bytes = _status_bytes("VmRSS")
    answer: Answer = least(asked.repetitions, lambda: write(asked.out))
    counters = {"memory": {"growth_bytes": max(0, _status_bytes("VmHWM") - before_bytes)}}
    if asked.buffers is None:
        disk = Path.cwd() / f"disk-{os.getpid()}.root"
        counters["disk"] = least(asked.repetitions, lambda: write(disk))
        disk.unlink()
        counters["system"] = _system_times(asked.out.read_bytes(), disk)
        disk.unlink()
    return answer | {"counters": counters}


def _status_bytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def _system_times(content: bytes, path: Path) -> dict[str, int]:
    """Times to write bytes to a new file, and until they are on the disk."""
    start_ns = time.perf_counter_ns()
    with path.open("wb", buffering=0) as file:
        for begin in range(0, len(content), PART_BYTES):
            file.write(content[begin : begin + PART_BYTES])
        written_ns = time.perf_counter_ns()
        os.fsync(file.fileno())
    return {"write_ns": written_ns - start_ns, "sync_ns": time.perf_counter_ns() - written_ns}


def into_memory(asked: Asked) -> Answer:
    """The writer's crate into memory that was touched before, as the limit has it; the first time meets cold caches."""
    columns = [f"{one['name']} {one['type']} {one.get('counter', '-')}\n" for one in asked.columns.columns]
    words = [
        asked.columns.directory, asked.layout, asked.objects or "-", asked.codec, asked.threads, asked.repetitions + 1,
        asked.out,
    ]  # fmt: skip
    return said([compiled.program(compiled.EXAMPLES / "write_columns"), *words], "".join(columns))


def limit(asked: Asked) -> Answer:
    """The compression of the very buffers of the file that the writer's crate makes."""
    into_memory(asked)
    words = [asked.out, "T", asked.codec, asked.threads, asked.repetitions + 1]
    told = said([compiled.program(compiled.EXAMPLES / "write_limit"), *words])
    passed = {
        key.removeprefix("with_pass_"): told[key]
        for key in ("with_pass_wall_ns", "with_pass_cpu_ns")
        if key in told
    }
    asked.out.unlink()
    return {"wall_ns": told["wall_ns"], "cpu_ns": told["cpu_ns"], "counters": {"with_pass": passed}}


def by_root(asked: Asked) -> Answer:
    """ROOT's own writers: ttree, rntuple, rntuple-parallel."""
    job = asked.columns.job() | {
        "engine": WRITER.removeprefix("root-"), "format": asked.layout, "compression": asked.codec,
        "threads": asked.threads, "repetitions": asked.repetitions, "out": str(asked.out),
    }  # fmt: skip
    return said([compiled.program(compiled.PROGRAMS / "write_columns")], json.dumps(job))


def by_uproot(asked: Asked) -> Answer:
    """uproot, which makes one basket, or one cluster, for each call of ``extend``."""
    import with_uproot

    try:
        return least(
            asked.repetitions, with_uproot.writing(asked.columns, asked.layout, asked.codec, asked.out)
        )
    except with_uproot.NoSuchCodecError as error:
        raise UnsupportedError(str(error)) from None


WRITERS: dict[str, Callable[[Asked], Answer]] = {
    "arrowroot": by_arrowroot, "arrowroot-memory": into_memory, "limit": limit, "root-ttree": by_root,
    "root-rntuple": by_root, "root-rntuple-parallel": by_root, "uproot": by_uproot,
}  # fmt: skip


#: What was compiled for a writer: without it there is none.
COMPILED = {
    "arrowroot-memory": (compiled.EXAMPLES / "write_columns",),
    "limit": (compiled.EXAMPLES / "write_columns", compiled.EXAMPLES / "write_limit"),
    **dict.fromkeys(
        ("root-ttree", "root-rntuple", "root-rntuple-parallel"), (compiled.PROGRAMS / "write_columns",)
    ),
}  # fmt: skip


def identify(_: Job) -> Answer:
    """Say what this is."""
    from importlib.metadata import version

    from arrowroot_lab.runners import arrowroot_runner, root_runner

    for path in COMPILED.get(WRITER, ()):
        compiled.check(path)
    if WRITER.startswith("root"):
        versions = {"ROOT": root_runner.version_of_wheel()}
    elif WRITER == "uproot":
        versions = {"uproot": version("uproot"), "awkward": version("awkward")}
    else:
        versions = {"arrowroot": version("arrowroot"), **arrowroot_runner.checkout()}
    # It compares values itself, with those that were given, instead of telling checksums.
    return {"name": WRITER, "versions": versions, "can": ["program", "threads", "checksum", "strategy:auto"]}


def run(job: Job) -> Answer:
    """Write, and compare what was written with what was given if that is wanted."""
    with tempfile.TemporaryDirectory(prefix="writing-", dir=IN_MEMORY) as directory:
        asked = Asked(job, Path(directory) / "out.root")
        answer = WRITERS[WRITER](asked)
        counters = answer.setdefault("counters", {})
        counters["payload"] = {"n_bytes": asked.columns.payload_bytes}
        if asked.out.exists():
            counters["written"] = {"n_bytes": asked.out.stat().st_size}
            if job.get("wants_checksum") and (wrong := difference(asked)):
                return {"error": f"wrong values: {wrong}"}
        elif WRITER != "limit":
            return {"error": "there is no file"}
    known = ("wall_ns", "cpu_ns", "peak_rss_bytes", "counters")
    return {"n_entries": asked.columns.n_entries, **{key: answer[key] for key in known if key in answer}}


def difference(asked: Asked) -> str | None:
    """Why the file is not what was given. Threads of a peer order entries in their own way: only sums count then."""
    import arrowroot as ar

    names = [column["name"] for column in asked.columns.columns]
    columns, kind = asked.arrow().select(names), asked.objects
    if kind is not None:
        made = data.as_kind(columns, kind)
        columns = data.of_kind(made, kind)
    given = data.checksums(columns)
    with ar.open(str(asked.out)) as file:
        # Records have the names of the columns besides, which show their members.
        table = file["T"].to_arrow(names if kind is None else made.column_names)
        found = data.checksums(table if kind is None else data.of_kind(table, kind))
        if kind == "records":
            found = data.checksums(file["T"].to_arrow(columns.column_names))
        if table.num_rows != asked.columns.n_entries:
            return f"{table.num_rows} entries, not {asked.columns.n_entries}"
    has_order = WRITER.startswith("arrowroot") or asked.threads == 1
    for name, wanted in given.items():
        for key in ("n", "sum", *(["order"] if has_order else [])):
            if found[name][key] != wanted[key]:
                return f"column {name}: {key} is {found[name][key]}, not {wanted[key]}"
    return None


if __name__ == "__main__":
    WRITER = sys.argv[1]
    serve({"identify": identify, "run": run})
