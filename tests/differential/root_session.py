"""ROOT in a process of its own: how the scripts that write files with it begin."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: Status of a script that needs a C++ compiler where there is none.
NO_COMPILER = 77


def start(directory: Path) -> None:
    """Go to a directory, and import ROOT, which then says errors only."""
    os.chdir(directory)
    (directory / ".rootrc").write_text("Root.Stacktrace: no\n")
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gROOT.SetBatch(True)


def start_with(macro: Path, directory: Path) -> None:
    """As :func:`start`, with the dictionaries of a macro, compiled in the directory.

    Raises: SystemExit if it cannot be compiled, of status NO_COMPILER where there is nothing to compile it with.
    """
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        raise SystemExit(NO_COMPILER)
    start(directory)
    import ROOT

    ROOT.gSystem.SetFlagsOpt("-O0")  # compiling takes longest
    if not ROOT.gSystem.CompileMacro(str(macro), "kO", "", str(directory)):
        raise SystemExit(f"{macro} does not compile")
