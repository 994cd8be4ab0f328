"""C++ of the jobs, compiled once: a job loads it from a folder that is kept between runs."""

from __future__ import annotations

import fcntl
import hashlib
import operator
import shutil
from pathlib import Path
from typing import Any

from .lazy import ROOT

#: ``make clean`` removes it.
KEPT = Path(__file__).resolve().parents[2] / "target" / "judge"


class NoCompilerError(RuntimeError):
    """There is no C++ compiler."""


def load(source: str) -> None:
    """Load C++ and the dictionaries that it asks for into a job; compile it if no job has yet.

    Raises: NoCompilerError, RuntimeError if it does not compile.
    """
    which = (ROOT.gROOT.GetVersion(), str(ROOT.TROOT.GetRootSys()), source)
    folder = KEPT / hashlib.sha256("\0".join(map(str, which)).encode()).hexdigest()[:20]
    folder.mkdir(parents=True, exist_ok=True)
    macro, done = folder / "macro.C", folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            if ROOT.gSystem.Load(str(folder / "macro_C.so")) < 0:
                raise RuntimeError(f"{folder} cannot be loaded")
            return
        if not any(map(shutil.which, ("c++", "g++", "clang++"))):
            raise NoCompilerError("ROOT makes no dictionaries")
        macro.write_text(source)
        ROOT.gSystem.SetFlagsOpt("-O0")  # compiling takes longest
        if not ROOT.gSystem.CompileMacro(str(macro), "kO"):
            raise RuntimeError(f"what begins with {source[:200]!r} does not compile")
        done.touch()


def dictionaries(names: list[str], headers: list[str]) -> bool:
    """Load the dictionaries of classes; compile them if no job has yet. Returns: True unless there is no compiler."""
    includes = "".join(f"#include <{header}>\n" for header in headers)
    links = "".join(f"#pragma link C++ class {name}+;\n" for name in names)
    try:
        load(f"{includes}#ifdef __CLING__\n{links}#endif\n")
    except NoCompilerError:
        return False
    return True


def declare(source: str) -> None:
    """Give C++ to the interpreter of a job: cheaper than to compile it, where it runs once and needs no dictionaries.

    Raises: RuntimeError if it is no C++.
    """
    if not ROOT.gInterpreter.Declare(source):
        raise RuntimeError(f"what begins with {source[:200]!r} is not taken")


def call(source: str, calls: list[tuple[Any, ...]], is_compiled: bool) -> list[Any]:
    """Call functions of C++, each named as in ``("space.function<type>", argument, ...)``; return what they return."""
    (load if is_compiled else declare)(source)
    found = []
    for name, *arguments in calls:
        path, _, types = name.partition("<")
        function = operator.attrgetter(path)(ROOT)
        found.append(plain((function[types[:-1]] if types else function)(*arguments)))
    return found


def plain(value: Any) -> Any:
    """Return a number, a text or a vector of C++ as one of Python."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return (
        str(value) if "string" in type(value).__name__.partition("<")[0] else [plain(item) for item in value]
    )
