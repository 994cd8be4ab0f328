"""Trees of objects are, record by record, what ROOT writes of the same objects with a dictionary of their classes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import layouts_with_root
from .invariants import assert_sound
from .layout_cases import OBJECTS, Array, Case, Class, Kind, Packed, Vector, cases, precision_of
from .readers import as_drawn
from .root_reading import read_all
from .test_root_identity import recorded_schema, records

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

ARROW = {
    "bool": pa.bool_(), "unsigned char": pa.uint8(), "short": pa.int16(), "unsigned short": pa.uint16(),
    "int": pa.int32(), "unsigned int": pa.uint32(), "Long64_t": pa.int64(), "ULong64_t": pa.uint64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(),
}  # fmt: skip
PACKED = {"Double32_t": pa.float64(), "Float16_t": pa.float32()}
#: A part of them in ``make test``: each object and each level both ways.
CASES = [
    case
    for place, case in enumerate(cases())
    if os.environ.get("ARROWROOT_SOAK") or place % 3 == place // 16 % 3
]


def arrow_type(kind: Kind) -> pa.DataType:
    if isinstance(kind, str):
        return ARROW[kind]
    if isinstance(kind, Vector):
        return pa.list_(pa.field("item", arrow_type(kind.of), nullable=False))
    if isinstance(kind, Array | Packed):
        found = PACKED[kind.of] if isinstance(kind, Packed) else ARROW[kind.of]
        for n_items in reversed(kind.dims):
            found = pa.list_(pa.field("item", found, nullable=False), n_items)
        return found
    return pa.struct([pa.field(name, arrow_type(member), nullable=False) for name, member in kind.members])


def class_of(kind: Kind) -> str:
    while isinstance(kind, Vector):
        kind = kind.of
    assert isinstance(kind, Class)
    return kind.name


def table_of(case: Case) -> pa.Table:
    field = pa.field("x", arrow_type(OBJECTS[case.kind]), nullable=False)
    return pa.table([pa.array(case.values, field.type)], schema=pa.schema([field]))


def write(case: Case, path: Path) -> None:
    layout = ar.Layout(
        split=case.split,
        memberwise=case.memberwise,
        classes={"x": class_of(OBJECTS[case.kind])},
        precision={"x": precision_of(OBJECTS[case.kind])},
        flush=case.flush,
        basket_size=case.basket_size,
        compression=None,
    )
    table = table_of(case)
    with (
        ar.create(path, reproducible=True, compression=None) as file,
        file.tree("T", table.schema, layout=layout) as tree,
    ):
        tree.append(table)


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """With the files of arrowroot and those of ROOT."""
    ours, of_root = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("root")
    versions: dict[str, int] = {}
    for case in CASES:
        write(case, ours / case.file_name)
        versions |= {name: version for name, (version, *_) in infos_of(ours / case.file_name).items()}
        schema = recorded_schema((ours / case.file_name).read_bytes())
        assert schema is not None
        (of_root / case.schema_name).write_text(schema)
    root.run(layouts_with_root.write_all, of_root, versions)
    return ours, of_root


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file_name)
def test_baskets_and_tree_are_what_root_writes(directories, case):
    ours, of_root = (directory / case.file_name for directory in directories)
    assert_sound(ours)
    pairs = zip(parts_of(ours), parts_of(of_root), strict=True)
    for (name, our), (other, theirs) in pairs:
        assert name == other
        differs = [place for place, (a, b) in enumerate(zip(our, theirs, strict=False)) if a != b]
        assert our == theirs, f"{name}: {len(our)} bytes, not {len(theirs)}; they differ at {differs[:20]}"


def parts_of(path: Path) -> list[tuple[str, bytes]]:
    """The baskets and the tree: the root directory says where the key list is, which depends on the descriptions."""
    found = records(path)
    return [(name, record) for name, record in found if "TBasket" in name or "TTree" in name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file_name)
def test_the_classes_are_described_as_root_describes_them(directories, case):
    ours, of_root = (infos_of(directory / case.file_name) for directory in directories)
    assert ours == of_root


def test_draw_takes_a_member_for_a_part_of_a_name_in_files_of_root_too(directories):
    """As docs/writing.md says, and as ``FewReadersWarning`` does."""
    case = next(one for one in CASES if (one.kind, one.split) == ("beside", 99))
    paths = [directory / case.file_name for directory in directories]
    names = dict.fromkeys(["x.n", "x.s.m.k", "x.s.n.k", "s.n.k"], "RVec<int>")
    read = read_all(
        [(path, "T", "ttree") for path in paths], paths[0].parent, names=dict.fromkeys(paths, names)
    )
    items = [one for entry in case.values for one in entry]
    for path in paths:
        drawn = {name: column.values for name, column in read[path]["Draw"].items()}
        assert drawn["x.n"] == as_drawn([one["n"] for one in items])
        assert drawn["x.s.m.k"] == as_drawn([one["s"]["m"]["k"] for one in items])
        assert drawn["x.s.n.k"] == drawn["x.n"]
        assert drawn["s.n.k"] == as_drawn([one["s"]["n"]["k"] for one in items])
        by_frame = read[path]["RDataFrame"]["x.s.n.k"].values
        assert by_frame == [[one["s"]["n"]["k"] for one in entry] for entry in case.values]


def infos_of(path: Path) -> dict[str, Any]:
    """Version, checksum and elements of the classes that are not ROOT's own."""
    with uproot.open(path) as file:
        found = {}
        for name, versions in file.file.streamers.items():
            if name.startswith(("T", "ROOT::")) and not name.startswith("Tracks"):
                continue
            for version, info in versions.items():
                members = [
                    {key: value for key, value in element.all_members.items() if not key.startswith("@")}
                    for element in info.elements
                ]
                found[name] = (version, info.member("fCheckSum"), [_plain(member) for member in members])
        return found


def _plain(members: dict[str, Any]) -> dict[str, Any]:
    """The members of an element, but for its title: ROOT notes there the class of the items that it has split."""
    return {
        key: str(value) if hasattr(value, "shape") else value
        for key, value in members.items()
        if key != "fTitle"
    }
