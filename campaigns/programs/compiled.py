"""Compiled programs, for the engines of campaigns: those in C++ are compiled when one is needed first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from arrowroot_lab.runners.process_line import UnsupportedError

SOURCES = Path(__file__).resolve().parent
#: ROOT's and the limits' in C++; and cargo's examples.
PROGRAMS = Path(os.environ.get("ARROWROOT_BENCH") or Path.home() / ".cache" / "arrowroot-bench") / "bin"
EXAMPLES = Path(os.environ.get("CARGO_TARGET_DIR") or SOURCES.parents[1] / "target") / "release" / "examples"


def program(path: Path) -> str:
    """Return the path of a program, compiled if it is missing. Raises: UnsupportedError if it cannot be."""
    check(path)
    if not path.exists():
        command = [sys.executable, str(SOURCES / "build.py"), path.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UnsupportedError(f"{path.name} does not compile: {done.stderr.strip().splitlines()[-1]}")
    return str(path.resolve())


def check(path: Path) -> None:
    """Raise UnsupportedError if a program was not compiled, and cannot be when it is needed."""
    if path.exists():
        return
    if path.parent == EXAMPLES:
        how = "python -m bench.programs compiles it in a clone of arrowroot, with cargo"
        raise UnsupportedError(f"{path.name} is not in {path.parent}: {how}")
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None or find_spec("ROOT") is None:
        raise UnsupportedError(
            f"{path.name} is not compiled yet, which needs {compiler} and the package ROOT"
        )
