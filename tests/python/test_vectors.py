"""ROOT's vectors in any place of a type, as records under the names of the vector package."""

from __future__ import annotations

import pyarrow as pa
import pytest

from arrowroot._arrow.convert import to_awkward
from arrowroot._arrow.vectors import RECORD, as_vectors

LORENTZ = {
    "fUniqueID": 1,
    "fBits": 2,
    "fP": {"fUniqueID": 3, "fBits": 4, "fX": 1.0, "fY": 2.0, "fZ": 3.0},
    "fE": 9.0,
}
FOUR = {"px": 1.0, "py": 2.0, "pz": 3.0, "E": 9.0}
POLAR = {"fCoordinates": {"fPt": 5.0, "fEta": 0.5, "fPhi": 0.25, "fM": 0.125}}
OTHER = {"fCoordinates": {"fR": 5.0, "fTheta": 0.5, "fPhi": 0.25}}


def never_null(kind: pa.DataType) -> pa.DataType:
    """Return a type whose members are never missing, as those of objects in files."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, never_null(one.type), nullable=False) for one in kind])
    return pa.list_(pa.field("item", never_null(kind.value_type))) if pa.types.is_list(kind) else kind


def recast(values: list[object], type_name: str = "") -> tuple[pa.Field, list[object]]:
    inferred = pa.array(values)
    array = pa.array(values, never_null(inferred.type))
    field, convert = as_vectors(pa.field("x", array.type), type_name)
    if convert is None:
        return field, values
    found = convert(array)
    found.validate(full=True)
    assert found.type == field.type
    # A slice is converted as a part of the whole.
    assert convert(array.slice(1)).to_pylist() == found.to_pylist()[1:]
    return field, found.to_pylist()


@pytest.mark.parametrize(
    ("values", "wanted", "record"),
    [
        ([LORENTZ, LORENTZ], [FOUR, FOUR], b"Momentum4D"),
        ([LORENTZ, None, LORENTZ], [FOUR, None, FOUR], b"Momentum4D"),
        ([POLAR, POLAR], [{"pt": 5.0, "eta": 0.5, "phi": 0.25, "mass": 0.125}] * 2, b"Momentum4D"),
        # A class of somebody else may have these members.
        ([LORENTZ["fP"]] * 2, [{"fX": 1.0, "fY": 2.0, "fZ": 3.0}] * 2, None),
        # Polar3D has a radius, for which vector has no name.
        ([OTHER, OTHER], [OTHER, OTHER], None),
        # Members that are called so, of what is no object of ROOT.
        ([{"fX": 1.0, "fY": 2.0, "fZ": 3.0}] * 2, [{"fX": 1.0, "fY": 2.0, "fZ": 3.0}] * 2, None),
        ([{"fUniqueID": 1, "fBits": 2}] * 2, [{"fUniqueID": 1, "fBits": 2}] * 2, None),
        ([{"fUniqueID": 1, "fBits": 2, "n": 3}] * 2, [{"n": 3}] * 2, None),
    ],
)
def test_records_are_named_and_their_bookkeeping_is_away(values, wanted, record):
    field, found = recast(values)
    assert found == wanted
    assert (field.metadata or {}).get(RECORD) == record


@pytest.mark.parametrize(
    ("type_name", "is_vector"),
    [
        ("TVector3", True),
        ("vector<TVector3>", True),
        ("Hit", False),
        ("MyTVector3", False),
        ("TVector2", False),
    ],
)
def test_the_class_says_if_members_that_others_have_are_of_a_vector(type_name, is_vector):
    field, found = recast([[LORENTZ["fP"]], []], type_name)
    names = ["x", "y", "z"] if is_vector else ["fX", "fY", "fZ"]
    assert found == [[dict(zip(names, [1.0, 2.0, 3.0], strict=True))], []]
    assert (field.type.value_field.metadata or {}).get(RECORD) == (b"Vector3D" if is_vector else None)


def test_bookkeeping_that_was_chosen_is_kept():
    kind = pa.struct([pa.field(name, pa.uint32(), nullable=False) for name in ("fUniqueID", "fBits", "n")])
    assert as_vectors(pa.field("x", kind), is_chosen=True)[1] is None


@pytest.mark.parametrize("n", [0, 1, 2])
def test_vectors_are_found_in_lists_and_in_other_records(n):
    _, found = recast([[[LORENTZ] * n, []], [], None, [[LORENTZ]]])
    assert found == [[[FOUR] * n, []], [], None, [[FOUR]]]
    field, found = recast([{"q": 1, "p4": LORENTZ, "all": [POLAR] * n + [POLAR]}] * 2)
    assert found[1]["p4"] == FOUR
    assert {one.name for one in field.type.field("all").type.value_type} == {"pt", "eta", "phi", "mass"}


def test_a_vector_that_may_be_missing_inside_of_another_object_stays_as_it_is():
    kind = pa.struct([("fCoordinates", pa.struct([("fX", pa.float64()), ("fY", pa.float64())]))])
    assert as_vectors(pa.field("x", kind))[1] is None


def test_split_members_of_a_collection_are_put_together():
    names = ["q", "p4.fCoordinates.fX", "p4.fCoordinates.fY", "p4.fCoordinates.fZ", "p4.fCoordinates.fT"]
    names += ["at.fCoordinates.fR", "at.fCoordinates.fTheta"]
    _, found = recast([dict.fromkeys(names, 1.0), dict(zip(names, map(float, range(7)), strict=True))])
    assert found[1] == {
        "q": 0.0,
        "p4": {"px": 1.0, "py": 2.0, "pz": 3.0, "E": 4.0},
        "at.fCoordinates.fR": 5.0,
        "at.fCoordinates.fTheta": 6.0,
    }


def test_awkward_has_the_names_of_records_in_records():
    pytest.importorskip("awkward")
    values = [{"q": [{"p4": LORENTZ, "text": "a"}], "p": POLAR}, {"q": [], "p": POLAR}]
    array = pa.array(values, never_null(pa.array(values).type))
    field, convert = as_vectors(pa.field("x", array.type))
    table = pa.Table.from_arrays([convert(array)], schema=pa.schema([field]))
    found = to_awkward(table).x
    assert found.q.p4.layout.purelist_parameter("__record__") == "Momentum4D"
    assert found.p.layout.purelist_parameter("__record__") == "Momentum4D"
    assert found.q.layout.purelist_parameter("__record__") is None
    assert found.q.text.to_list() == [["a"], []]
