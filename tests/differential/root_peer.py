"""Finds a Python that has ROOT, and runs programs with it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .root_session import NO_COMPILER

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent
#: The beginnings of ROOT's messages, but for those that only tell.
COMPLAINTS = ("Error in <", "Warning in <", "SysError in <", "Fatal in <", "Break in <", "*** Break ***")
TIMEOUT_S = 900  # ROOT compiles what it writes with; a busy machine takes its time


@functools.cache
def python_with_root() -> str | None:
    """ARROWROOT_ROOT_PYTHON, or this interpreter; None if neither has ROOT."""
    candidates = [os.environ.get("ARROWROOT_ROOT_PYTHON"), sys.executable]
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('ROOT') is None)"
    for python in filter(None, candidates):
        if Path(python).exists() and subprocess.run([python, "-c", probe], check=False).returncode == 0:
            return python
    return None


def run(script: str, *arguments: Path | str, complaints_but: Iterable[str] | None = None) -> None:
    """Let a script of this folder write files with ROOT.

    complaints_but: ROOT may complain of nothing, not in a warning either, but in lines that have one of these texts.

    Skips the test where there is no ROOT, or no compiler and the script needs one.

    Raises: RuntimeError with what ROOT said, if it fails.
    """
    python = python_with_root()
    if python is None:
        pytest.skip("NO ROOT FOUND: pip install root, or set ARROWROOT_ROOT_PYTHON to a Python that has it")
    done = subprocess.run(
        [python, "-B", "-W", "ignore", str(HERE / script), *map(str, arguments)],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    if done.returncode == NO_COMPILER:
        pytest.skip("NO C++ COMPILER: ROOT makes no dictionaries")
    if done.returncode != 0:
        raise RuntimeError(f"ROOT failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    said = [] if complaints_but is None else complaints(done.stdout + done.stderr, complaints_but)
    if said:
        raise RuntimeError("ROOT said:\n" + "\n".join(said))


def complaints(text: str, but: Iterable[str]) -> list[str]:
    """Return the lines of what ROOT printed in which it warns, or more, but those with one of these texts."""
    said = [line for line in text.splitlines() if line.lstrip().startswith(COMPLAINTS)]
    return [line for line in said if not any(part in line for part in but)]
