"""Classes of ROOT as bases, members and items of collections, split and not: arrowroot reads what ROOT's JSON says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from .compare import RootFiles

MACRO = Path(__file__).with_name("write_bases.C")
N_ENTRIES = 9
SPLITS = (0, 1, 99)
MODES = ("members", "objects")
TYPES = [
    "TObject",
    "TNamed",
    "ar::Quiet",
    "ar::Number",
    "TObjString",
    "TLorentzVector",
    "TVector2",
    "TParameter<double>",
    "TGraph",
    "TH1F",
    "TMatrixD",
    "TArrayD",
    "ROOT::Math::PtEtaPhiMVector",
]
_LINKED = (
    "ar::Derived<{}>",
    "ar::Holder<{}>",
    "std::vector<{}>",
    "std::vector<std::vector<{}>>",
    "std::map<int, {}>",
    "std::vector<ar::Derived<{}>>",
)
BRANCHES = ("holder.", "deriveds", "clones")
#: What ROOT's JSON writes of an object that ignores its TObject is no JSON.
IGNORED = '"dummy":,'
#: Status bits change when ROOT reads them.
NOT_AS_STORED = "fBits"


@pytest.fixture(scope="module")
def base_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    """With a text of JSON for each entry and branch, in turn."""
    links = [f"#pragma link C++ class {linked.format(name)}+;\n" for name in TYPES for linked in _LINKED]
    source = MACRO.read_text().replace('#include "links.h"\n', "".join(links))
    files = {
        f"{number}_{split}_{mode}": (f"ar.write<{name}>", split, mode == "members")
        for number, name in enumerate(TYPES)
        for split in SPLITS
        for mode in MODES
    }
    directory = tmp_path_factory.mktemp("bases")
    calls = [(write, f"{name}.root", N_ENTRIES, *how) for name, (write, *how) in files.items()]
    return RootFiles(directory, dict(zip(files, root.compiled(directory, source, *calls), strict=True)))


def compare(found: Any, wanted: Any, path: str) -> int:
    """Check that what ROOT's JSON has is there, and the same. Returns the number of values compared."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        array = {"TArrayD": "fArray", "TArrayF": "fArray"}  # what ROOT calls a base that is an array
        names = {name: array.get(name, name) for name in found if name != NOT_AS_STORED}
        in_both = {ours: theirs for ours, theirs in names.items() if theirs in wanted}
        if "arr" not in wanted:  # ROOT's collections have members of other names
            assert wanted.keys() - set(in_both.values()) <= {"_typename", "$pair", "fUniqueID", "fBits"}, path
        return sum(compare(found[a], wanted[b], f"{path}.{a}") for a, b in in_both.items())
    if isinstance(found, list):
        if isinstance(wanted, dict):  # a TClonesArray, or an array of numbers
            wanted = wanted["arr"] if "arr" in wanted else wanted["fArray"]
        found, wanted = flat(found), flat(wanted or [])
        assert len(found) == len(wanted), path
        return sum(compare(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(found, wanted, strict=True)))
    if isinstance(found, float):
        assert math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-300), path
    elif isinstance(wanted, dict):
        assert found == wanted["fString"], path
    else:
        assert found == wanted, path
    return 1


def flat(items: list[Any]) -> list[Any]:
    """Lists of lists, and pairs of maps, one after the other: ROOT's JSON nests them in other ways."""
    if not any(isinstance(item, list | tuple) for item in items):
        return items
    pairs = [{"first": item[0], "second": item[1]} if isinstance(item, tuple) else item for item in items]
    return [one for item in pairs for one in (flat(item) if isinstance(item, list) else [item])]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("number", range(len(TYPES)), ids=TYPES)
def test_roots_classes_are_read_wherever_they_are(
    base_files: RootFiles, number: int, split: int, mode: str
) -> None:
    name = f"{number}_{split}_{mode}"
    lines = base_files.expected[name]
    n_compared = 0
    with ar.open(base_files / f"{name}.root") as file:
        for place, branch in enumerate(BRANCHES):
            texts = [text.replace(IGNORED, "") for text in lines[place :: len(BRANCHES)]]
            if texts[0] == "null":
                continue
            if branch == "clones":
                assert file["T"].matching(branch)[0].type_name == "TClonesArray"
            found = pa.table(file["T"].to_arrow([branch], assemble=True))[branch].to_pylist()
            assert len(found) == len(texts) == N_ENTRIES
            for entry, (ours, text) in enumerate(zip(found, texts, strict=True)):
                n_compared += compare(ours, json.loads(text), f"{branch} of entry {entry}")
    assert n_compared > 150


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("number", range(len(TYPES)), ids=TYPES)
def test_every_branch_of_them_can_be_read_alone(base_files: RootFiles, number: int, split: int) -> None:
    by_mode = []
    for mode in MODES:
        with ar.open(base_files / f"{number}_{split}_{mode}.root") as file:
            tree = file["T"]
            names = [column.name for column in tree.columns]
            columns = {name: pa.table(tree.to_arrow([name]))[name].to_pylist() for name in names}
            some = pa.table(tree.to_arrow(names, entries=[5, 1, 1, 8])).to_pydict()
            assert some == {
                name: [values[entry] for entry in (5, 1, 1, 8)] for name, values in columns.items()
            }
        by_mode.append(columns)
    assert by_mode[0] == by_mode[1]
