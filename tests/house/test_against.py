"""The judgement of ``make against``: losses that are there are found, and others are not."""

from __future__ import annotations

import os
import random

import pytest

import arrowroot as ar
from bench import against, against_worker, against_writing


def verdict(ratios):
    return against.Comparison(against.cases()[0], list(ratios)).verdict()


def test_bounds_of_eleven_pairs_are_the_second_from_either_end():
    assert [against.bound_rank(n) for n in (7, 10, 11, 22, 33)] == [1, 1, 2, 6, 10]
    with pytest.raises(ValueError, match="too few"):
        against.bound_rank(6)


def test_loss_beyond_the_noise_is_worse_and_one_within_it_is_not():
    noise = [random.Random(3).uniform(-0.01, 0.01) for _ in range(11)]
    assert verdict([1.08 + n for n in noise]) == "worse"
    assert verdict([1.0 + n for n in noise]) == "no loss"
    assert verdict([0.9 + n for n in noise]) == "no loss"


def test_one_wild_pair_changes_nothing_and_many_leave_it_open():
    assert verdict([1.0] * 10 + [3.0]) == "no loss"
    assert verdict([0.9] * 6 + [1.2] * 5) == "unclear"


def test_false_alarms_are_rarer_than_the_confidence_says():
    draw = random.Random(7)
    alarms = sum(verdict([draw.lognormvariate(0, 0.05) for _ in range(11)]) == "worse" for _ in range(2000))
    assert alarms / 2000 <= 1 - against.CONFIDENCE


def test_both_sides_have_bytecode_where_the_interpreter_writes_none(tmp_path, monkeypatch):
    package = tmp_path / "arrowroot"
    package.mkdir()
    source = package / "__init__.py"
    source.write_text("x = 1\n")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    against.write_bytecode(tmp_path)
    [compiled] = (package / "__pycache__").iterdir()
    before = compiled.read_bytes()
    source.write_text("x = 12345\n")
    os.utime(source, (source.stat().st_mtime + 2,) * 2)  # bytecode knows whole seconds
    against.write_bytecode(tmp_path)
    assert compiled.read_bytes() != before


@pytest.mark.parametrize(
    ("pattern", "tables"),
    [
        ("write 100 *", {"T": 8_000}),
        ("write 700 *", {"Events": 800}),
        ("write texts", {"T": 24_000}),
        ("write 60 small *", {"appended": 1_200, "filled": 1_200}),
    ],
)
def test_case_of_writing_writes_what_it_is_named_after(pattern, tables, tmp_path, monkeypatch):
    monkeypatch.setattr(against_writing, "CACHE", tmp_path)
    [case] = against.cases([pattern])
    job = case.job()
    against_worker.writer(job, str(tmp_path))()
    given = against_writing.WRITERS[case.table][0]()
    with ar.open(tmp_path / "out.root") as file:
        read = {name: file[name].to_arrow() for name in tables}
    assert {name: table.num_rows for name, table in read.items()} == tables
    for table in read.values():
        assert table.slice(0, 20).to_pydict() == given.slice(0, 20).to_pydict()


def test_cases_are_chosen_by_name_or_pattern_and_one_that_matches_nothing_is_an_error():
    assert len(against.cases()) == 12
    assert [case.name for case in against.cases(["import", "write t*"])] == ["import", "write texts"]
    with pytest.raises(ValueError, match="no case matches writing: import; open 947"):
        against.cases(["import", "writing"])


def test_task_that_the_worker_does_not_know_ends_the_program(tmp_path):
    with pytest.raises(SystemExit, match="no task 'wrote'"):
        against.sample(tmp_path, {"task": "wrote"})
