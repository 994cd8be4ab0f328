"""Arrow arrays are NumPy arrays by their memory, and nobody imports pandas for it."""

import subprocess
import sys

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._arrow import arrays
from arrowroot._arrow.convert import to_numpy

KINDS = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bool_"),
]


@pytest.mark.parametrize("kind", KINDS)
@hypothesis.given(
    values=st.lists(st.none() | st.integers(0, 100), max_size=40),
    start=st.integers(0, 40),
    stop=st.integers(0, 40),
)
def test_a_slice_of_any_kind_has_its_values(kind, values, start, stop):
    dtype = np.dtype(kind.rstrip("_"))
    exact = [None if value is None else dtype.type(value) for value in values]
    array = pa.array(exact, getattr(pa, kind)())[start:stop]
    expected = [0 if value is None else value for value in exact[start:stop]]
    valid = arrays.validity(array)
    assert arrays.is_number(array.type)
    assert arrays.without_nulls(array, valid).tolist() == expected
    assert arrays.without_nulls(array, valid).dtype == dtype
    known = [value is not None for value in exact[start:stop]]
    assert (valid is None and all(known)) or valid.tolist() == known


def test_what_stands_behind_null_is_not_seen():
    numbers = pa.Array.from_buffers(
        pa.int32(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([1, 77, 3], np.int32))]
    )
    assert numbers.to_pylist() == [1, None, 3]
    assert arrays.without_nulls(numbers, arrays.validity(numbers)).tolist() == [1, 0, 3]


def test_integers_become_arrow_without_a_copy_where_they_can():
    numbers = np.arange(10)
    assert arrays.to_arrow(numbers).buffers()[1].address == numbers.ctypes.data
    assert arrays.to_arrow(numbers[::-2]).to_pylist() == [9, 7, 5, 3, 1]


def test_what_arrow_holds_cannot_be_changed(sample):
    table = ar.open(sample[0])["Events"].to_arrow(["run", "pt"]).take(pa.array(range(0, 1000, 2)))
    for values in (to_numpy(table)["run"], arrays.to_numpy(pa.array([1, 2, 3]).take(pa.array([0])))):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 99


READ = """
import sys
import arrowroot as ar
tree = ar.open(sys.argv[1])["Events"]
tree.to_arrow(["run", "pt"], filter="run > 3 && pt[0] > 0 && any(pt > 1)")
tree.to_numpy("pt")
assert "pandas" not in sys.modules
"""


def test_filters_and_numpy_do_not_import_pandas(sample):
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", READ, str(sample[0])], check=True, timeout=300)
