"""What the tests of the judge let it do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from .lazy import ROOT


def add(one: int, other: int) -> dict[str, Any]:
    found: dict[str, Any] = {"sum": one + other, "directory": Path.cwd(), "has": "ROOT" in sys.modules}
    return found | {"process": os.getpid(), "server": os.getppid()}


def fail() -> None:
    ROOT.Error("fail", "something is wrong")
    raise ValueError("of the job")


def crash() -> None:
    ROOT.gInterpreter.ProcessLine('printf("before the end\\n"); raise(SIGSEGV);')


def leave(status: int) -> None:
    os._exit(status)


def warn() -> str:
    ROOT.gROOT.Warning("warn", "of the usual")
    ROOT.gROOT.Error("warn", "of another kind")
    return "done"


def hang() -> None:
    """Wait forever, with a process that waits, too."""
    child = os.fork()
    if child:
        Path("processes.txt.new").write_text(f"{os.getpid()} {child}")
        Path("processes.txt.new").rename("processes.txt")
    while True:
        time.sleep(3600)


def leave_process() -> int:
    """Return while a process that was started waits."""
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    return child


def declare(members: str) -> int:
    """Declare a class of the same name with other members."""
    assert ROOT.gInterpreter.Declare(f"struct Twice {{ {members} }};")
    return int(ROOT.gInterpreter.ProcessLine("sizeof(Twice)"))


def answer(source: str) -> tuple[int, bool]:
    """Load C++, and return what ``judged::answer()`` does and whether its class has a dictionary."""
    from . import macros

    macros.load(source)
    return int(ROOT.judged.answer()), bool(ROOT.TClass.GetClass("judged::One").HasDictionary())


def answer_without_compiler() -> None:
    from . import macros

    os.environ["PATH"] = ""
    macros.load("int no_run_has_compiled_it;")
