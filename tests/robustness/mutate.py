"""Reads damaged files and demands errors or values: ``python -m tests.robustness.mutate --n 20000 --seed 1``.

Never allowed: a crash, a panic, an exception that is no ArrowrootError, more than 10 s of processor time for
one file (or no answer for 60 s: others may have the processor), or memory beyond 64 MB + 1100 x the file's size
(what zlib can expand is a little below 1100). A mutation is named ``FILE#SEED.NUMBER``; ``--replay NAME`` makes
it again and keeps the damaged file. ``--ntuples 60`` damages random RNTuples that ROOT writes, and makes the checksums
of most right again. ``--own`` damages files of our own writing.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.suite import suite_directory
from tests.differential.schemas import run as schemas
from tests.differential.schemas.ntuple_generate import Generator
from tests.judge import root

from . import own_files
from .mutations import Regions, find_regions, mutate

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent
MAX_FILE_BYTES = 300_000
FILE_TIMEOUT_S, ANSWER_TIMEOUT_S = 10, 60
BASE_BYTES, BYTES_PER_BYTE = 64_000_000, 1100


@dataclass(frozen=True)
class Original:
    """A sound file to damage."""

    name: str
    data: bytes
    regions: Regions


def originals(extra: list[Path]) -> list[Original]:
    """The small conformance files that hold trees, and ``extra`` ones."""
    paths = [(p.name, p) for p in extra]
    suite = suite_directory()
    if suite is not None:
        paths += [(str(p.relative_to(suite / "data")), p) for p in sorted((suite / "data").rglob("*.root"))]
    return sound((name, path) for name, path in paths if path.stat().st_size <= MAX_FILE_BYTES)


def sound(files: Iterable[tuple[str, Path]]) -> list[Original]:
    """Files to damage, by name."""
    return [Original(name, data, find_regions(data)) for name, path in files if (data := path.read_bytes())]


def written_ntuples(directory: Path, n: int) -> list[Original]:
    """So many random RNTuples, written by ROOT as damage does most: nothing compressed, pages without checksums."""
    wanted = {"SetCompression(0)", "SetEnablePageChecksums(false)"}
    numbers = (seed for seed in itertools.count(1) if wanted <= set(Generator(seed).make().options))
    seeds = list(itertools.islice(numbers, n))
    refused = schemas.write("ntuple", seeds, directory)
    names = [f"{seed}.root" for seed in seeds if seed not in refused]
    return sound((name, directory / name) for name in names)


def own(directory: Path) -> list[Original]:
    """Files of our own writing, of every layout and codec."""
    return sound((name, file.path) for name, file in own_files.write(directory).items())


class Reader:
    """A worker process, replaced when it dies or hangs."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - a pipe that nobody reads would fill up

    def read(self, path: Path) -> dict:
        """What came of reading the file: as worker.py answers, or outcome "crash" or "hang"."""
        process = self._process or self._start()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"path": str(path)}).encode() + b"\n")
            process.stdin.flush()
        if not select.select([process.stdout], [], [], ANSWER_TIMEOUT_S)[0]:
            self._stop()
            return {"outcome": "hang", "detail": f"not done after {ANSWER_TIMEOUT_S} s"}
        line = process.stdout.readline()
        if line:
            return json.loads(line)
        status = process.wait()
        self._errors.seek(0)
        message = self._errors.read().decode(errors="replace").strip().splitlines()[-3:]
        self._stop()
        return {"outcome": "crash", "detail": f"status {status}: {' | '.join(message)[:400]}"}

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors.truncate(0)
        self._process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "worker.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        # The imports of a busy machine's new process do not count as reading a file.
        self._process.stdout.readline()
        return self._process

    def close(self) -> None:
        """End the worker process."""
        self._stop()
        self._errors.close()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
            self._process = None


@dataclass(frozen=True)
class Failure:
    """A mutation that was not answered as it must be."""

    name: str
    damage: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}\n    {self.damage}"


@dataclass
class Summary:
    """Of one run."""

    outcomes: collections.Counter[str]
    failures: list[Failure]
    most_seconds: float = 0
    most_peak_bytes: int = 0

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {what}" for what, n in self.outcomes.most_common())
        text = (
            f"{self.outcomes.total()} mutations: {counts}; slowest {self.most_seconds:.2f} s, "
            f"largest {self.most_peak_bytes / 1e6:.0f} MB"
        )
        return "\n".join([text, *map(str, self.failures)])


def judge(answer: dict, file_bytes: int) -> str | None:
    """Why an answer is not allowed; None if it is."""
    if answer["outcome"] not in ("values", "error"):
        return f"{answer['outcome']}: {answer['detail']}"
    bound = BASE_BYTES + BYTES_PER_BYTE * file_bytes
    if answer["peak_bytes"] > bound:
        peak_mb, bound_mb = answer["peak_bytes"] / 1e6, bound / 1e6
        return f"memory: {peak_mb:.0f} MB, allowed {bound_mb:.0f} MB for {file_bytes} bytes"
    if answer["seconds"] > FILE_TIMEOUT_S:
        return f"hang: {answer['seconds']:.1f} s"
    return None


def run(
    files: list[Original], n_mutations: int, seed: int, n_workers: int = 2, *, progress: bool = False
) -> Summary:
    """Damage the files in turns and read them in worker processes."""
    summary = Summary(collections.Counter(), [])
    lock = threading.Lock()
    numbers = iter(range(n_mutations))
    began = time.monotonic()

    def work() -> None:
        reader = Reader()
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "damaged.root"
            while (number := _next(lock, numbers)) is not None:
                original = files[number % len(files)]
                name = f"{original.name}#{seed}.{number}"
                data, damage = mutate(original.data, original.regions, name)
                path.write_bytes(data)
                answer = reader.read(path)
                why = judge(answer, len(data))
                with lock:
                    summary.outcomes[answer["outcome"] if why is None else "FAILED"] += 1
                    summary.most_seconds = max(summary.most_seconds, answer.get("seconds", 0))
                    summary.most_peak_bytes = max(summary.most_peak_bytes, answer.get("peak_bytes", 0))
                    if why is not None:
                        summary.failures.append(Failure(name, damage, why))
                        if progress:
                            print(summary.failures[-1], flush=True)
                    n_done = summary.outcomes.total()
                    if progress and n_done % 1000 == 0:
                        print(f"{n_done} after {time.monotonic() - began:.0f} s", flush=True)
        reader.close()

    threads = [threading.Thread(target=work) for _ in range(n_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summary


def _next(lock: threading.Lock, numbers) -> int | None:
    with lock:
        return next(numbers, None)


def replay(files: list[Original], name: str) -> int:
    original = next(o for o in files if o.name == name.rpartition("#")[0])
    data, damage = mutate(original.data, original.regions, name)
    path = Path(tempfile.gettempdir()) / "damaged.root"
    path.write_bytes(data)
    reader = Reader()
    answer = reader.read(path)
    reader.close()
    print(f"{path}: {damage}\n{answer}\n{judge(answer, len(data)) or 'as it should be'}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=int(os.environ.get("ARROWROOT_MUTATIONS", "20000")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--file", default="", help="only files whose name contains this")
    parser.add_argument("--extra", type=Path, nargs="*", default=[], help="more sound files to damage")
    parser.add_argument(
        "--ntuples", type=int, default=0, help="damage only so many RNTuples, written by ROOT"
    )
    parser.add_argument("--own", action="store_true", help="damage only files of our own writing")
    parser.add_argument("--replay", metavar="NAME", help="make one mutation again")
    options = parser.parse_args()
    if options.ntuples and root.python_with_root() is None:
        print("no ROOT found: pip install root, or set ARROWROOT_ROOT_PYTHON", file=sys.stderr)
        return 2
    if options.ntuples or options.own:
        with tempfile.TemporaryDirectory() as directory:
            of = Path(directory)
            files = own(of) if options.own else written_ntuples(of, options.ntuples)
    else:
        files = originals(options.extra)
    files = [o for o in files if options.file in o.name]
    if not files:
        print("no files to damage: set ARROWROOT_CONFORMANCE or give --extra", file=sys.stderr)
        return 2
    if options.replay:
        return replay(files, options.replay)
    summary = run(files, options.n, options.seed, options.workers, progress=True)
    print(f"{len(files)} files; {summary}")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
