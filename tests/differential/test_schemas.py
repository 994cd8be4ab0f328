"""Some random classes of ROOT; the many are run by hand: ``python -m tests.differential.schemas --n 2000``.

``--kind ntuple`` writes RNTuples in the place of trees.
"""

from __future__ import annotations

import os

from .schemas import ntuple_generate
from .schemas.generate import Generator
from .schemas.run import run_seeds

N_SCHEMAS = 25 if os.environ.get("ARROWROOT_SOAK") else 12


def test_random_classes_are_read_as_root_wrote_them(tmp_path):
    result = run_seeds(N_SCHEMAS, 40_001, tmp_path)
    assert not result.findings, "\n".join(map(str, result.findings))
    assert result.n_columns > 4 * N_SCHEMAS
    assert len(result.refused) < N_SCHEMAS // 4


def test_bases_that_root_does_not_split_inside_a_split_collection_are_read(tmp_path):
    """It leaves those whole that take one byte."""
    result = run_seeds(1, 121_806, tmp_path)
    assert not result.findings, "\n".join(map(str, result.findings))
    assert result.n_columns == 10


def test_bases_that_root_does_not_split_inside_a_split_pair_are_put_together_in_its_members(tmp_path):
    result = run_seeds(1, 79_300, tmp_path)
    assert not result.findings, "\n".join(map(str, result.findings))
    assert result.n_columns > 20


def test_random_ntuples_are_read_as_root_wrote_them(tmp_path):
    result = run_seeds(N_SCHEMAS, 1, tmp_path, kind="ntuple")
    assert not result.findings, "\n".join(map(str, result.findings))
    assert result.n_columns > 3 * N_SCHEMAS
    assert len(result.refused) < N_SCHEMAS // 2


def test_a_seed_makes_the_same_schema_and_values():
    first, second = Generator(7).make(), Generator(7).make()
    assert first == second
    assert first.expected(0) == second.expected(0)
    assert first != Generator(8).make()


def test_a_seed_makes_the_same_ntuple_and_values():
    first, second = ntuple_generate.Generator(7).make(), ntuple_generate.Generator(7).make()
    assert first == second
    assert first.expected(0) == second.expected(0)
    assert first != ntuple_generate.Generator(8).make()
