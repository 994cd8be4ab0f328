"""Lets ROOT write the files of some schemas: run in its process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

from . import cpp, generate, ntuple_cpp, ntuple_generate

#: For trees and for RNTuples: what makes schemas, the C++ of these, and the header that it needs.
KINDS: dict[str, tuple[Any, Any, str]] = {
    "tree": (generate, cpp, "fill.hxx"),
    "ntuple": (ntuple_generate, ntuple_cpp, "fill_ntuple.hxx"),
}
#: So many schemas are handed to the interpreter in one piece: it has a cost for each.
TOGETHER = 10


def write_seeds(kind: str, seeds: list[int]) -> dict[int, str]:
    """Write ``SEED.root`` for each seed. Returns: for each seed that ROOT has errors about, what it says."""
    generator, code, header = KINDS[kind]
    ROOT.gErrorIgnoreLevel = ROOT.kPrint
    ROOT.gInterpreter.ProcessLine(".O 0")  # compiling takes longest
    macros.declare(f'#include "{Path(__file__).parent / header}"\n')
    macros.declare(ERRORS)
    ROOT.fuzz.keep_errors()
    refused: dict[int, str] = {}
    known: set[str] = set()
    for first in range(0, len(seeds), TOGETHER):
        schemas = [generator.Generator(seed).make() for seed in seeds[first : first + TOGETHER]]
        together = "\n".join(
            code.definitions(s) + "\n" + code.description(s, known) + "\n" + code.writer(s) for s in schemas
        )
        if not ROOT.gInterpreter.Declare(QUIET + together):
            raise SystemExit(f"the interpreter does not take the schemas {[s.seed for s in schemas]}")
        for schema in schemas:
            space = getattr(ROOT, schema.namespace)
            ROOT.fuzz.errors().clear()
            space.describe()
            try:
                space.write(f"{schema.seed}.root")
            except ROOT.std.exception as error:
                refused[schema.seed] = str(error)
            # Of an RNTuple's classes ROOT has errors about what it would not stream: fields do not need that.
            if kind == "tree" and ROOT.fuzz.errors().size():
                refused[schema.seed] = "\n".join(sorted({str(e) for e in ROOT.fuzz.errors()}))
    return refused


QUIET = '#pragma clang diagnostic ignored "-Wundefined-inline"\n'
#: Errors of ROOT are kept, instead of being printed.
ERRORS = """
#include <TError.h>
namespace fuzz {
inline std::vector<std::string> &errors() { static std::vector<std::string> kept; return kept; }
inline void keep(int level, Bool_t, const char *where, const char *what) {
  if (level >= kError) errors().push_back(std::string(where) + ": " + what);
}
inline void keep_errors() { SetErrorHandler(keep); }
}
"""
