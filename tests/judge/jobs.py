"""What the tests of the judge let it do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any


def add(one: int, other: int) -> dict[str, Any]:
    return {"sum": one + other, "directory": Path.cwd(), "process": os.getpid(), "has": "ROOT" in sys.modules}


def fail() -> None:
    import ROOT

    ROOT.Error("fail", "something is wrong")
    raise ValueError("of the job")


def crash() -> None:
    import ROOT

    ROOT.gInterpreter.ProcessLine('printf("before the end\\n"); raise(SIGSEGV);')


def leave(status: int) -> None:
    os._exit(status)


def warn() -> str:
    import ROOT

    ROOT.Warning("warn", "of the usual")
    ROOT.gInterpreter.ProcessLine('Error("warn", "of another kind");')
    return "done"


def hang() -> None:
    """Wait forever, with a process that waits, too."""
    child = os.fork()
    if child:
        Path("processes.txt.new").write_text(f"{os.getpid()} {child}")
        Path("processes.txt.new").rename("processes.txt")
    while True:
        time.sleep(3600)


def declare(members: str) -> int:
    """Declare a class of the same name with other members."""
    import ROOT

    assert ROOT.gInterpreter.Declare(f"struct Twice {{ {members} }};")
    return int(ROOT.gInterpreter.ProcessLine("sizeof(Twice)"))


def answer(source: str) -> tuple[int, bool]:
    """Load C++, and return what ``judged::answer()`` does and whether its class has a dictionary."""
    import ROOT

    from . import macros

    macros.load(source)
    return int(ROOT.judged.answer()), bool(ROOT.TClass.GetClass("judged::One").HasDictionary())


def answer_without_compiler() -> None:
    from . import macros

    os.environ["PATH"] = ""
    macros.load("int no_run_has_compiled_it;")
