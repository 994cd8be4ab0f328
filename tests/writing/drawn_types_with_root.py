"""Reads fields as C++ types that are named, whichever they are: run in ROOT's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

from . import merged_ntuples_with_root

HEADER = Path(__file__).resolve().with_name("drawn_types_with_root.h")
#: Classes that need a dictionary, if sets of numbers are read.
SETS_OF_NUMBERS = [f"class std::{name}<std::int32_t>+" for name in ("set", "unordered_set", "multiset")]
#: Types of which RDataFrame takes columns: each takes a second to interpret.
TAKEN = {"double": float, "float": float, "std::int32_t": int, "std::string": str}


def read(
    linked: list[str], files: list[tuple[str, list[tuple[str, str]], bool]]
) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Read fields of files, each as a type ("": as the file says). ``linked``: classes that need a dictionary.

    A file that says so is opened by RDataFrame, too.

    Returns: for each file its fields as JSON, or the errors; and those that RDataFrame reads beside.
    """
    _load(linked)
    found = []
    for path, fields, is_framed in files:
        values = {}
        for name, kind in fields:
            try:
                values[name] = str(ROOT.drawn.values(path, name, kind))
            except Exception as error:  # noqa: BLE001 - whatever ROOT throws is the answer
                values[name] = f"error: {error}"
        found.append((values, _framed(path, fields) if is_framed else {}))
    return found


def _framed(path: str, fields: list[tuple[str, str]]) -> dict[str, Any]:
    try:
        frame = ROOT.RDataFrame("t", path)
    except Exception as error:  # noqa: BLE001 - whatever ROOT throws is the answer
        return {"n": str(error)}
    taken = {name: (kind, frame.Take[kind](name)) for name, kind in fields if kind in TAKEN}
    return {name: list(map(TAKEN[kind], values.GetValue())) for name, (kind, values) in taken.items()}


def merge(linked: list[str], merged: list[tuple[str, list[str]]]) -> None:
    """Merge files by ROOT's merger, each output of several inputs: it makes fields of all types."""
    _load(linked)
    for output, inputs in merged:
        merged_ntuples_with_root.merge(output, inputs)


def _load(linked: list[str]) -> None:
    before, after = HEADER.read_text(encoding="utf-8").split("// LINKED\n")
    macros.load(before + "".join(f"#pragma link C++ {one};\n" for one in linked) + after)
