"""Reads records of classes without their dictionaries: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

VIEWS = """
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
namespace judged {
std::vector<float> members(const char *path) {
   auto reader = ROOT::RNTupleReader::Open("t", path);
   auto x = reader->GetView<float>("s.x");
   auto y = reader->GetView<std::int32_t>("s.y");
   std::vector<float> found;
   for (auto i : *reader) { found.push_back(x(i)); found.push_back(y(i)); }
   return found;
}
}
"""


def members(path: str, columns: dict[str, str]) -> dict[str, Any]:
    """Return columns by RDataFrame, and ``s.x`` and ``s.y`` by views, with no dictionary of the classes."""
    macros.declare(VIEWS)
    viewed = macros.plain(ROOT.judged.members(path))
    frame = ROOT.RDataFrame("t", path)
    taken = {
        name: [macros.plain(one) for one in frame.Take[kind](name).GetValue()]
        for name, kind in columns.items()
    }
    return {"taken": taken, "viewed": viewed}
