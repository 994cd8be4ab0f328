import sys
import types

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrowroot._select.entries import count, normalise
from tests.recorded import session

N = 10


def chosen(entries, n=N):
    """Return the entry numbers that a set stands for."""
    result = normalise(entries, n)
    if result is None:
        return list(range(n))
    if isinstance(result, tuple):
        return list(range(*result))
    assert result.dtype == np.int64
    return result.tolist()


@given(st.slices(N))
def test_a_slice_means_what_it_means_for_a_list(entries):
    assert chosen(entries) == list(range(N))[entries]


@given(st.lists(st.integers(-N, N - 1)))
def test_numbers_come_in_any_order_with_repeats_and_count_from_the_end_when_negative(numbers):
    expected = [number % N for number in numbers]
    assert chosen(numbers) == expected
    assert chosen(np.array(numbers, dtype=np.int32)) == expected
    assert chosen(pa.array(numbers, type=pa.int64())) == expected
    assert chosen(pa.chunked_array([pa.array(numbers, type=pa.int16())])) == expected


@given(st.lists(st.booleans(), min_size=N, max_size=N))
def test_a_mask_chooses_where_it_is_true(mask):
    expected = [i for i, taken in enumerate(mask) if taken]
    for form in (mask, np.array(mask), pa.array(mask)):
        assert chosen(form) == expected
        assert count(normalise(form, N), N) == len(expected)


def test_a_whole_range_stays_a_range():
    assert normalise(None, N) is None
    assert normalise(slice(None), N) == (0, N)
    assert normalise(range(2, 5), N) == (2, 5)
    assert normalise(range(-3, -1), N).tolist() == [7, 8]
    assert normalise(range(0, N, 3), N).tolist() == [0, 3, 6, 9]
    assert chosen(range(3, 3)) == []


def test_numbers_come_from_other_libraries_too():
    polars = pytest.importorskip("polars")
    assert chosen(polars.Series([3, -1])) == [3, 9]
    assert chosen(polars.Series([True, False] * 5)) == [0, 2, 4, 6, 8]
    assert chosen(pytest.importorskip("pandas").Series([3, -1])) == [3, 9]
    assert chosen(number for number in (1, 2)) == [1, 2]


def test_the_callers_array_is_not_changed():
    numbers = np.array([-1, 0])
    assert chosen(numbers) == [9, 0]
    assert numbers.tolist() == [-1, 0]


def test_what_cannot_be_is_refused_with_the_reason(tmp_path):
    session("entries", tmp_path, {"normalise": normalise}, [(r"np\.int64\((\d+)\)", r"\1")])


def test_arrays_that_could_be_masked_are_entries_where_nothing_is():
    plain = np.ma.masked_array([1, 2], mask=[False, False])
    assert normalise(plain, 5).tolist() == [1, 2]


def test_masked_arrays_that_another_thread_is_importing_are_none_yet(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert normalise(np.array([1, 2]), 5).tolist() == [1, 2]
