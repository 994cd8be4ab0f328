"""Draws are valid, the same for a seed, and have every kind; a table that is made smaller still fails."""

import pyarrow as pa
import pytest

from . import KINDS, draw, every_kind, shrunk
from .drawn import NUMBERS, ODD_NAMES, OTHERS, SHARED, TEXTS, TIMES


@pytest.fixture(scope="module")
def tables():
    return [draw(seed) for seed in range(400)]


def test_a_seed_draws_the_same_table_and_another_one_another(tables):
    assert str(draw(7).to_pydict()) == str(tables[7].to_pydict())
    assert len({str(table.schema) for table in tables}) == len(tables)
    for table in tables:
        table.validate(full=True)


def test_every_kind_and_what_is_easily_written_wrongly_are_drawn(tables):
    kinds = {field.type for table in tables for field in table.schema}
    assert kinds >= {*NUMBERS, *TIMES, *TEXTS, *OTHERS}
    texts = " ".join(map(str, kinds))
    assert all(
        f"{kind}<" in texts
        for kind in ("list", "large_list", "list_view", "fixed_size_list", "struct", "map")
    )
    names = {name for table in tables for name in table.column_names}
    assert names >= {*ODD_NAMES, *SHARED}
    assert {table.num_rows for table in tables} >= {0, 1, 150}
    assert {
        any(len(chunk) == 0 for column in table.columns for chunk in column.chunks) for table in tables
    } == {True, False}
    assert every_kind(3).schema.types == KINDS


@pytest.mark.parametrize("word", ["map<", "uint16", "halffloat", "dictionary", "string_view"])
def test_a_table_that_fails_becomes_one_column_of_one_entry(tables, word):
    def fails(table: pa.Table) -> bool:
        return word in str(table.schema) and table.num_rows > 0

    found = [shrunk(table, fails) for table in tables[:200] if fails(table)]
    assert found
    assert {(table.num_rows, table.num_columns) for table in found} == {(1, 1)}
    assert all(fails(table) for table in found)
    depths = [str(table.schema.field(0).type).count("<") for table in found]
    assert max(depths) <= (3 if word == "map<" else 2), found[depths.index(max(depths))].schema
