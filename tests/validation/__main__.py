"""The RNTuple Validation Suite: ``ARROWROOT_VALIDATION=DIRECTORY python -m tests.validation [TEST ...]``.

DIRECTORY is a checkout of github.com/root-project/rntuple-validation. For each of its tests ROOT's macro writes a file,
which arrowroot reads and compares with what ROOT's macro prints of it; and arrowroot writes what it has read anew, of
which ROOT's macro must print the same. What ROOT writes and prints is kept in ``target/validation``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.command import run_here
from tests.judge import root

from . import with_root
from .reading import differences

OUTPUT = Path(__file__).resolve().parents[2] / "target" / "validation"
#: Options of ``arrowroot skim``, by test: what its columns do not say.
OPTIONS = {
    "compression.algorithms.lz4": ("--compression", "lz4:4"),
    "compression.algorithms.lzma": ("--compression", "lzma:7"),
    "compression.algorithms.zlib": ("--compression", "zlib:1"),
    "compression.algorithms.zstd": ("--compression", "zstd:5"),
    "compression.block.big": ("--compression", "zstd:5"),
    "structure.clusters": ("--compression", "none", "--flush", "1"),
}
UNCOMPRESSED = ("--compression", "none")
#: What no writer but a test of readers makes.
NOT_WRITTEN = ("structure.feature_flag",)


def run(macro: Path, *arguments: Path) -> str:
    """Run a macro in ROOT's process. Returns: "", or what ROOT said against it."""
    try:
        told = root.run(
            with_root.run_macro, OUTPUT, macro, list(map(str, arguments)), OUTPUT / "dictionaries"
        )
    except root.RootFailed as error:
        return str(error)
    return str(told)


def check(test: Path, name: str) -> tuple[str, str]:
    """Return what is wrong with reading, and with writing: "" if nothing is."""
    by_root, ours = OUTPUT / f"{name}.root", OUTPUT / f"{name}.ours.root"
    printed, printed_of_ours = by_root.with_suffix(".json"), ours.with_suffix(".json")
    for macro, *arguments in (("write.C", by_root), ("read.C", by_root, printed)):
        if not arguments[-1].exists() and (said := run(test / macro, *arguments)):
            return (f"ROOT: {said}",) * 2
    try:
        read = "; ".join(differences(by_root, printed.read_text()))
    except Exception as error:  # noqa: BLE001 - whatever it is, the file is not read
        read = f"{type(error).__name__}: {error}"
    if name in NOT_WRITTEN:
        return read, "-"
    options = OPTIONS.get(name, UNCOMPRESSED)
    done = run_here("skim", f"{by_root}:ntpl", f"{ours}:ntpl", "--carry", "none", "--force", *options)
    if done.returncode:
        return read, done.stderr
    said = run(test / "read.C", ours, printed_of_ours)
    if not said and printed_of_ours.read_text() != printed.read_text():
        said = f"ROOT prints {printed_of_ours.read_text()!r}"
    return read, said


def main() -> int:
    """Print a line for each test, and how many are right."""
    suite = Path(os.environ["ARROWROOT_VALIDATION"]).resolve()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    tests = {
        ".".join(one.parent.relative_to(suite).parts): one.parent for one in sorted(suite.rglob("write.C"))
    }
    wanted = sys.argv[1:] or list(tests)
    n_read = n_written = n_written_in_all = 0
    for name in wanted:
        read, written = check(tests[name], name)
        n_read += not read
        n_written += not written
        n_written_in_all += written != "-"
        print(f"{name}: {f'read: {read}' if read else 'read'}, {written or 'written'}", flush=True)
    print(f"{n_read} of {len(wanted)} read, {n_written} of {n_written_in_all} written")
    return int(n_read < len(wanted) or n_written < n_written_in_all)


if __name__ == "__main__":
    sys.exit(main())
