"""The encodings of pages by choice, and the limits of an RNTuple."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import late_with_root

#: Types of columns that are as they are in memory. Source: BinaryFormatSpecification.md (ROOT 6.40).
PLAIN = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0E, 0x0F}
VALUES = {
    "i": np.arange(300, dtype=np.int32),
    "u": np.arange(300, dtype=np.uint64),
    "f": np.linspace(0, 1, 300),
    "b": np.arange(300) % 3 == 0,
    "t": [f"text {number}" for number in range(300)],
    "l": [[number] * (number % 4) for number in range(300)],
}


def column_types(path: str) -> dict[str, set[int]]:
    """The types of the columns of each field at the top, as uproot finds them."""
    with uproot.open(path) as file:
        ntuple = file["Events"]
        fields, found = ntuple.field_records, {}
        for column in ntuple.column_records:
            number = column.field_id
            while fields[number].parent_field_id != number:
                number = fields[number].parent_field_id
            found.setdefault(fields[number].field_name, set()).add(int(column.type))
    return found


@pytest.mark.parametrize("encoding", ["plain", {"i": "plain", "l": "plain", "*": "split"}])
def test_encodings_are_of_a_table_or_of_columns(tmp_path, encoding):
    path = f"{tmp_path}/t.root"
    layout = ar.Layout("rntuple", encoding=encoding)
    assert ar.Layout.from_toml(layout.to_toml()) == layout
    ar.write(f"{path}:Events", VALUES, layout=layout, compression="zstd:5")
    with ar.open(path) as file:
        read = file["Events"].to_arrow()
    with uproot.open(path) as file:
        by_uproot = file["Events"].arrays()
    for name, values in VALUES.items():
        plainly = values if isinstance(values, list) else values.tolist()
        assert read[name].to_pylist() == by_uproot[name].to_list() == plainly, name
    types = column_types(path)
    plain = set(VALUES) if encoding == "plain" else {"i", "l", "b"}
    assert {name for name, found in types.items() if found <= PLAIN} == plain
    assert root.run(late_with_root.sums, tmp_path, path, "rntuple", ["b"], ["b"])["all"] == [
        float((VALUES["b"] * np.arange(1, 301)).sum())
    ]


def test_late_columns_have_the_encoding_of_the_table(tmp_path):
    path = tmp_path / "t.root"
    layout = ar.Layout("rntuple", encoding="plain")
    with ar.create(path) as file, file.tree("Events", layout=layout, columns="grow") as table:
        table.append({"x": [1.5]})
        table.append({"x": [2.5], "y": [2]})
    assert column_types(str(path)) == {"x": {0x0D}, "y": {0x09}}


def test_limits_of_an_rntuple_are_errors_before_anything_is_written(tmp_path):
    deep = pa.int32()
    for _ in range(61):
        deep = pa.list_(deep)
    cases = {
        "pages of": ({"x": [1]}, {"page_size": "513 MiB"}),
        "below one byte": ({"x": [1]}, {"page_size": "0 B"}),
        "nested in more than 60": (pa.table({"x": pa.array([None], deep)}), {}),
    }
    for what, (data, options) in cases.items():
        with pytest.raises(ar.ArrowrootError, match=what):
            ar.write(f"{tmp_path}/t.root:T", data, layout="rntuple", **options)
        assert list(tmp_path.iterdir()) == []
