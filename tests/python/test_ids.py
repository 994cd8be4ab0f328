"""Packed ids are those that were given, are found as a dictionary finds them, and take 12 bytes each."""

import numpy as np
import pytest

from arrowroot._passes.friends import _partners
from arrowroot._select.ids import SortedIds

KINDS = ("int64", "uint64", "int32", "uint16", "int8")


def drawn(rng, kind, n_ids, span):
    limits = np.iinfo(kind)
    low, high = (limits.min, limits.max) if span is None else (0, span)
    return rng.integers(low, high, n_ids, dtype=kind, endpoint=True)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("span", [3, 100, None])
def test_ids_are_found_as_by_a_dictionary(n_columns, kind, span):
    rng = np.random.default_rng(n_columns)
    columns = [drawn(rng, kind, 200, span) for _ in range(n_columns)]
    chunks = list(zip(*(np.array_split(column, 3) for column in columns), strict=True))
    ids = SortedIds(chunks, 200, n_columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert ids.listed(np.arange(200)) == rows
    for other in ("int64", "uint64", "int32"):
        asked = [
            np.concatenate([column[:50].astype(other), drawn(rng, other, 50, 100)]) for column in columns
        ]
        expected = [
            (row, index)
            for row, numbers in enumerate(zip(*(column.tolist() for column in asked), strict=True))
            for index, one in enumerate(rows)
            if one == numbers
        ]
        assert list(zip(*(part.tolist() for part in ids.indices(ids.find(asked))), strict=True)) == expected
    for column in range(n_columns):
        values = set(columns[column].tolist())
        for low, high in ((0, 5), (50, 90), (-(1 << 70), -1), (1 << 63, 1 << 65)):
            assert ids.may_be_between(column, low, high) == any(low <= value <= high for value in values)


def test_an_id_takes_12_bytes_whatever_its_numbers_and_order(monkeypatch):
    monkeypatch.setattr("arrowroot._select.ids._SORTED_AT_ONCE", 1000)
    numbers = np.random.default_rng(3).permutation(10_000)
    columns = [
        (numbers // 700).astype("int32") + 300_000,
        (numbers // 7 % 100).astype("uint16"),
        numbers + (1 << 33),
    ]
    ids = SortedIds([columns], 10_000, 3)
    assert ids.nbytes == 12 * len(ids)
    # Sorted part by part, each key has its own place.
    assert (np.diff(ids.keys.astype(np.int64)) > 0).all()
    assert [column.tolist() for column in ids.at(np.arange(10_000))] == [
        column.tolist() for column in columns
    ]
    rows, indices = ids.indices(ids.find([column[::-1] for column in columns]))
    assert (rows.tolist(), indices.tolist()) == (list(range(10_000)), list(range(9999, -1, -1)))


def test_what_is_kept_of_a_friend_is_4_bytes_for_each_entry():
    there = SortedIds([[np.array([5, 3, 9, 9], np.int64)]], 4, 1)
    partners = _partners(iter([[np.array([3, 4, 9], np.int32)], [np.array([5], np.int32)]]), 4, there)
    # The entry with 9 has two partners, that with 4 none.
    assert (partners.tolist(), partners.nbytes) == ([1, -1, -2, 0], 16)
