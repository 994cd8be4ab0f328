"""Runs macros of the RNTuple Validation Suite: in ROOT's process."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.judge.lazy import ROOT
from tests.judge.macros import NoCompilerError

if TYPE_CHECKING:
    from pathlib import Path


def run_macro(macro: Path, arguments: list[str], kept: Path) -> str:
    """Run the function of a macro that has its name. Returns: "", or what it or ROOT threw.

    ``kept``: a folder for the dictionary that its test has, if it has one, compiled once.
    """
    load_dictionary(macro.parent, kept)
    ROOT.gInterpreter.AddIncludePath(str(macro.parent))
    if ROOT.gROOT.LoadMacro(str(macro)) != 0:
        return f"{macro} is not taken"
    called = ", ".join(f'"{one}"' for one in arguments)
    ROOT.gInterpreter.Declare(f"void run_macro() {{ {macro.stem}({called}); }}")
    try:
        ROOT.run_macro()
    except Exception as error:  # noqa: BLE001 - whatever ROOT throws is the answer
        return str(error) or type(error).__name__
    return ""


def load_dictionary(test: Path, kept: Path) -> None:
    """Compile the dictionary of a test, whose library the macros load by its name.

    Raises: NoCompilerError; RuntimeError if it does not compile.
    """
    for header in test.glob("*.hxx"):
        if not (test / "LinkDef.h").exists():
            continue
        kept.mkdir(parents=True, exist_ok=True)
        library = kept / f"lib{header.stem}.so"
        if not library.exists():
            if not any(map(shutil.which, ("c++", "g++", "clang++"))):
                raise NoCompilerError("ROOT makes no dictionaries")
            source = kept / f"{header.stem}.C"
            source.write_text(f'#include "{header}"\n{(test / "LinkDef.h").read_text()}')
            if not ROOT.gSystem.CompileMacro(str(source), "kO", str(library.with_suffix(""))):
                raise RuntimeError(f"{header} does not compile")
        ROOT.gSystem.AddDynamicPath(str(kept))
