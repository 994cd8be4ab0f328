"""Some of the runs of faults.py; all of them: python -m tests.remote.faults --n 1000 --seed 1."""

from __future__ import annotations

import time

import pytest

from tests.servers.fixtures import Started

from . import fault_plans, faults, places

FIRST_SEED, N_RUNS = 100_000, 30
#: A machine may be slow, but not for ever: then fewer runs must do.
MOST_S, FEWEST_RUNS = 30.0, 20


def test_under_seeded_faults_the_table_is_right_or_the_error_clear(tmp_path):
    results = []
    with Started() as started:
        campaign = started.enter_context(
            faults.Campaign(
                tmp_path, lambda kind: started(lambda: places.place(kind, tmp_path)), fault_plans.KINDS
            )
        )
        end = time.monotonic() + MOST_S
        for seed in range(FIRST_SEED, FIRST_SEED + N_RUNS):
            results.append(campaign.run(seed))
            if time.monotonic() > end and len(results) >= FEWEST_RUNS:
                break
    report = faults.summary(results)
    print(report)
    assert [str(result) for result in results if result.complaint] == [], report
    # The runs meant something: faults did happen, and most of them were mended.
    assert sum(bool(result.met) for result in results) > len(results) / 3, report
    assert sum(result.outcome == "right" for result in results) > len(results) / 3, report


@pytest.mark.parametrize(
    ("codec", "outcome", "met", "complaint"),
    [
        ("zstd", "wrong", ("0:down:5:flip:1",), None),
        ("zstd", "wrong", ("0:down:5:reset",), "wrong values"),
        ("lz4", "wrong", ("0:down:5:flip:1",), "wrong values"),
        ("zlib", "hang", (), "hang"),
        ("none", "right", ("0:down:5:flip:1",), None),
        ("none", "error", ("0:down:5:reset",), "an error that says nothing"),
    ],
)
def test_only_what_no_checksum_protects_is_forgiven(codec, outcome, met, complaint):
    run = fault_plans.Run(1, "http", codec, "all", "auto", ("0:down:5:flip:1", "0:down:5:reset"))
    assert faults.Result(run, outcome, "StorageError: ", 0.1, met).complaint == complaint


def test_a_seed_is_a_plan():
    sizes = dict.fromkeys(fault_plans.CODECS, 100_000)
    runs = [fault_plans.draw(seed, fault_plans.KINDS, sizes) for seed in range(200)]
    assert runs == [fault_plans.draw(seed, fault_plans.KINDS, sizes) for seed in range(200)]
    assert {fault.split(":")[3] for run in runs for fault in run.faults} == set(fault_plans.FAULTS)
    assert {run.kind for run in runs} == set(fault_plans.KINDS)
