"""Runs the conformance suite in worker processes, and compares the outcome with the committed baseline."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
BASELINE = HERE / "passing.json"
REPORT = REPOSITORY / "target" / "conformance-report.txt"
N_WORKERS = 2
#: A column that takes longer has failed.
COLUMN_TIMEOUT_S = 300
#: After so many crashes in one file the rest of its columns fails untried.
MAX_CRASHES_PER_FILE = 20


def suite_directory() -> Path | None:
    """Where the conformance files are: ARROWROOT_CONFORMANCE, or beside the repository. None: nowhere."""
    path = Path(os.environ.get("ARROWROOT_CONFORMANCE") or REPOSITORY.parent / "shared" / "conformance")
    return path if (path / "truth").is_dir() and (path / "check_template.py").is_file() else None


@dataclass
class FileResult:
    """The verdicts of one file's columns."""

    truth: dict[str, Any]
    verdicts: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.truth["file"])

    def columns(self) -> list[tuple[int, int]]:
        return [
            (t, b)
            for t, tree in enumerate(self.truth["trees"])
            for b, branch in enumerate(tree["branches"])
            if branch["category"] != "group"
        ]

    def branch(self, column: tuple[int, int]) -> dict[str, Any]:
        found: dict[str, Any] = self.truth["trees"][column[0]]["branches"][column[1]]
        return found

    def path(self, column: tuple[int, int]) -> str:
        return f"{self.name}:{self.truth['trees'][column[0]]['path']}:{self.branch(column)['name']}"

    def failed(self) -> list[tuple[int, int]]:
        return [c for c in self.columns() if self.verdicts[c][0] == "fail"]


class Worker:
    """One worker process; replaced when it crashes or hangs."""

    def __init__(self, suite: Path) -> None:
        self._suite = suite
        self._process: subprocess.Popen[str] | None = None

    def check(self, truth_path: Path) -> FileResult:
        result = FileResult(json.loads(truth_path.read_text(encoding="utf-8")))
        todo, n_crashes = result.columns(), 0
        while todo:
            if n_crashes == MAX_CRASHES_PER_FILE:
                result.verdicts.update(dict.fromkeys(todo, ("fail", f"not tried after {n_crashes} crashes")))
                break
            crashed, why = self._run(truth_path, todo, result)
            if crashed is not None:
                n_crashes += 1
                result.verdicts[crashed] = ("fail", why)
            todo = [c for c in todo if c not in result.verdicts]
        return result

    def _run(self, truth_path: Path, todo: list[tuple[int, int]], result: FileResult) -> tuple[Any, str]:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timed_out = threading.Event()

        def kill() -> None:
            timed_out.set()
            process.kill()

        current = todo[0]
        timer = threading.Timer(COLUMN_TIMEOUT_S, kill)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"truth": str(truth_path), "columns": todo}) + "\n")
                process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer is None:
                    return None, ""
                current = (answer[0], answer[1])
                if len(answer) == 4:
                    result.verdicts[current] = (answer[2], answer[3])
                else:
                    timer.cancel()
                    timer = threading.Timer(COLUMN_TIMEOUT_S, kill)
                    timer.start()
        finally:
            timer.cancel()
        status = process.wait()
        self._process = None
        if current in result.verdicts:
            current = next(c for c in todo if c not in result.verdicts)
        if timed_out.is_set():
            return current, f"HANG: not done after {COLUMN_TIMEOUT_S} s"
        return current, f"CRASH: the reading process ended with status {status}"

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), str(self._suite)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        return self._process

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(timeout=30)
            if self._process.stdout is not None:
                self._process.stdout.close()


def run(suite: Path, file_contains: str = "") -> list[FileResult]:
    """Check all columns of all files, in N_WORKERS processes. Takes a few minutes."""
    truths = [p for p in sorted((suite / "truth").rglob("*.json")) if file_contains in str(p)]
    # The longest first, so that the workers end together.
    truths.sort(key=lambda p: p.stat().st_size, reverse=True)
    work: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for path in truths:
        work.put(path)
    results: list[FileResult] = []
    errors: list[BaseException] = []

    def drain() -> None:
        worker = Worker(suite)
        try:
            while True:
                results.append(worker.check(work.get_nowait()))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            errors.append(error)
        finally:
            worker.close()

    threads = [threading.Thread(target=drain) for _ in range(N_WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sorted(results, key=lambda r: r.name)


# The baseline: for each tree with scored columns, which of them fail. Columns are named by their index in the
# truth file, in ranges, because thousands of full names would make every update a large change.


def as_ranges(indices: list[int]) -> str:
    """[1, 2, 3, 7] -> "1-3,7"."""
    ranges: list[list[int]] = []
    for i in indices:
        if ranges and ranges[-1][1] == i - 1:
            ranges[-1][1] = i
        else:
            ranges.append([i, i])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def from_ranges(text: str) -> list[int]:
    """The inverse of as_ranges."""
    indices: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indices.extend(range(int(first), int(last or first) + 1))
    return indices


def fingerprint(truth: dict[str, Any]) -> str:
    """Of the columns of a truth file: indices mean something only while it stays the same."""
    names = json.dumps([[t["path"], [b["name"] for b in t["branches"]]] for t in truth["trees"]])
    return hashlib.sha256(names.encode()).hexdigest()[:12]


def baseline_of(results: list[FileResult]) -> dict[str, Any]:
    """What passing.json holds."""
    files: dict[str, Any] = {}
    n_passed = 0
    for result in results:
        trees: dict[str, Any] = {}
        for t, tree in enumerate(result.truth["trees"]):
            verdicts = {b: v[0] for (i, b), v in result.verdicts.items() if i == t}
            passed = sum(v == "pass" for v in verdicts.values())
            n_passed += passed
            failing = sorted(b for b, v in verdicts.items() if v == "fail")
            if passed or failing:
                trees[tree["path"]] = [passed, as_ranges(failing)]
        files[result.name] = {"truth": fingerprint(result.truth), "trees": trees}
    return {"n_passed": n_passed, "files": files}


def write_baseline(results: list[FileResult]) -> None:
    """One file a line, so that a change reads well."""
    baseline = baseline_of(results)
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in baseline["files"].items()]
    head = '"about": "written by python -m tests.conformance.update; [passed, indices of failing columns]"'
    text = f'{{{head},\n "n_passed": {baseline["n_passed"]},\n "files": {{\n' + ",\n".join(lines) + "\n}}\n"
    BASELINE.write_text(text, encoding="utf-8")


@dataclass
class Comparison:
    """How a run differs from the baseline."""

    stopped: list[str] = field(default_factory=list)  # passed before, fail now, with the reason
    started: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # files the baseline does not know, or knows otherwise


def compare(results: list[FileResult], baseline: dict[str, Any]) -> Comparison:
    """Which columns stopped or started to pass."""
    found = Comparison()
    for result in results:
        known = baseline["files"].get(result.name)
        if known is None or known["truth"] != fingerprint(result.truth):
            found.changed.append(result.name)
            continue
        for column, (verdict, detail) in sorted(result.verdicts.items()):
            tree = result.truth["trees"][column[0]]["path"]
            failed_before = column[1] in set(from_ranges(known["trees"].get(tree, [0, ""])[1]))
            if verdict == "fail" and not failed_before:
                found.stopped.append(f"{result.path(column)} ({result.branch(column)['type']}): {detail}")
            elif verdict == "pass" and failed_before:
                found.started.append(result.path(column))
    return found


def report(results: list[FileResult]) -> str:
    """By category; why columns fail; by file."""
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    special: collections.Counter[tuple[str, str]] = collections.Counter()
    files: list[tuple[int, str, list[tuple[str, int]]]] = []
    for result in results:
        of_file: collections.Counter[str] = collections.Counter()
        for column, (verdict, detail) in result.verdicts.items():
            branch = result.branch(column)
            table[branch["category"]][verdict] += 1
            for mark in ("root_only", "peer_wrong"):
                if branch.get(mark):
                    special[mark, verdict] += 1
            if verdict == "fail":
                reason = without_names(detail)
                reasons[branch["category"]][reason] += 1
                of_file[reason] += 1
        if of_file:
            files.append((of_file.total(), result.name, of_file.most_common(3)))
    width = max(len(c) for c in [*table, "total"])
    rows = [(c, table[c]) for c in sorted(table)]
    rows.append(("total", sum((c for _, c in rows), collections.Counter())))
    lines = [f"{'category':{width}} {'passed':>8} {'failed':>8} {'skipped':>8}"]
    lines += [f"{c:{width}} {n['pass']:8d} {n['fail']:8d} {n['skip']:8d}" for c, n in rows]
    names = {"root_only": "beyond uproot", "peer_wrong": "uproot is wrong"}
    lines += [f"{names[m]}: {special[m, 'pass']} passed, {special[m, 'fail']} failed" for m in names]
    lines += ["", "why columns fail, by category"]
    for category in sorted(reasons):
        lines += [f"  {category}"] + [f"    {n:6d}  {why}" for why, n in reasons[category].most_common(6)]
    lines += ["", "why columns fail, by file"]
    for n, name, top in sorted(files, reverse=True):
        lines += [f"  {n:6d}  {name}"] + [f"            {k:6d}  {why}" for why, k in top]
    return "\n".join(lines) + "\n"


def without_names(detail: str) -> str:
    """A message without what differs from column to column, so that equal reasons count together."""
    detail = re.sub(r"(branch \"[^\"]*\"|;).*", r"\1", detail)  # what follows may be cut off
    detail = re.sub(r"\S*/\S*|\"[^\"]*\"|'[^']*'|`[^`]*`", "..", detail)
    detail = re.sub(r"0x[0-9a-f]+|\d+", "N", detail)
    return detail[:110]
