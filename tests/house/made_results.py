"""Results of the laboratory that are made up: a case of a campaign, with its samples as a table wants them."""

from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import Outcome, Result, Sample


def result(campaign, engine, workload, samples, *, dataset="data", storage="local", threads=1, error=None):
    """A result; a sample is a dict of times, ``counters`` and ``details``."""
    made = Result(
        case={
            "dataset": key_of(dataset), "dataset_name": dataset, "storage_name": storage, "workload_name": workload,
            "storage": {"kind": "local", "place": storage}, "engine": engine,
            "workload": {"kind": "read", "columns": workload}, "strategy": {"name": "auto"}, "threads": threads,
            "workers": 1,
        },
        site="here", machine={"cpu": "EPYC", "n_cores": 2},
        versions={"ROOT": "6.40.00"} | ({"commit": "0123456789ab"} if engine.startswith("arrowroot") else {}),
        dataset={"name": dataset, "n_entries": 1000}, campaign={"name": campaign, "run": "1"},
        environment={"cpu": "EPYC", "n_cores": 2, "memory_bytes": 24 << 30},
        created_at="2026-11-28T10:00:00.000Z",
    )  # fmt: skip
    if error:
        made.outcome, made.reason = Outcome.FAILED, error
    made.samples = [
        Sample(
            turn=turn, started_at=made.created_at, outcome=Outcome.OK, readings={"load_1_minute": 0.5}, **told
        )
        for turn, told in enumerate(samples)
    ]
    return made
