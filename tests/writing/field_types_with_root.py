"""Reads fields by the C++ types that they were asked to have: run in ROOT's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

HEADER = Path(__file__).resolve().with_name("field_types_with_root.h")


def source(types: list[str], linked: list[str], declared: str = "", of: str = "values") -> str:
    """C++ with a function that reads fields of these types; ``linked``: what has a dictionary then.

    ``of``: "values" of an RNTuple, or "branch" of a tree.
    """
    before, after = HEADER.read_text(encoding="utf-8").split("// DECLARED\n")
    cases = "".join(f'   if (type == "{one}") return {of}<{one}>(path, field);\n' for one in types)
    links = "".join(f"#pragma link C++ {one};\n" for one in linked)
    read = "std::string read(const std::string &type, const std::string &path, const std::string &field) {\n"
    return f'{before}{declared}{after}{read}{cases}   return "";\n}}\n}}\n#ifdef __CLING__\n{links}#endif\n'


def read(code: str, path: str, fields: list[tuple[str, str]]) -> dict[str, Any]:
    """Return each field, read as a type, as JSON, or the error; and what RDataFrame reads of a plain column beside."""
    macros.load(code)
    found: dict[str, Any] = {}
    for name, kind in fields:
        try:
            found[name] = str(ROOT.judged.read(kind, path, name))
        except Exception as error:  # noqa: BLE001 - whatever ROOT throws is the answer
            found[name] = f"error: {error}"
    # ROOT 6.40 opens no RNTuple with a bitset so, of its own either (RNTupleDS::AddField).
    if not any("bitset" in kind for _, kind in fields):
        found["sum"] = float(ROOT.RDataFrame("t", path).Sum("n").GetValue())
    return found


def described(paths: list[str]) -> list[dict[str, str]]:
    """Return the fields of files at any depth by their paths, with the C++ types that they say."""
    found = []
    for path in paths:
        reader = ROOT.RNTupleReader.Open("t", path)
        descriptor = reader.GetDescriptor()
        types: dict[str, str] = {}
        left = [(descriptor.GetFieldZeroId(), "")]
        while left:
            parent, around = left.pop()
            for one in descriptor.GetFieldDescriptor(parent).GetLinkIds():
                field = descriptor.GetFieldDescriptor(one)
                name = f"{around}{field.GetFieldName()}"
                types[name] = str(field.GetTypeAlias() or field.GetTypeName())
                left.append((one, f"{name}."))
        found.append(types)
    return found
