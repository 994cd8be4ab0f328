"""The eight analysis queries of IRIS-HEP, by arrowroot, uproot and RDataFrame: ``python -m bench.adl [--update-docs]``.

It runs the campaign ``campaigns/adl.toml`` of the laboratory as far as it is not measured yet, and prints the table of
``docs/lab/adl.md``; with ``--update-docs`` it writes it there.
"""

from __future__ import annotations

import argparse
from typing import Any

from arrowroot_lab import results

from . import laboratory
from .machine import machine, packages, today
from .pages import update_page
from .paths import REPOSITORY
from .tables import markdown

CAMPAIGN = REPOSITORY / "campaigns" / "adl.toml"
PAGE = REPOSITORY / "docs" / "lab" / "adl.md"
ENGINES = ("arrowroot", "uproot + Awkward", "RDataFrame")
QUERIES = range(1, 9)

Figures = dict[tuple[str, str], dict[str, float]]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--db", default="bench-adl.db", help="database of the laboratory's results")
    parser.add_argument("--update-docs", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    where = machine()
    laboratory.run(CAMPAIGN, options.db)
    text = f"Measured on {today()}, {where}; {packages()}. Times in ms.\n\n{table(figures(options.db))}"
    print(text)
    if options.update_docs:
        update_page(PAGE, text, "adl")


def figures(database: str) -> Figures:
    """The medians of the newest results, by engine and workload: ms, MB and reads."""
    samples = results(database, campaign="adl", each="sample", newest=True)
    found: Figures = {}
    for (engine, workload), of_case in samples[samples["is_counted"]].groupby(["engine", "workload"]):
        found[engine, workload] = {
            "ms": float(of_case["wall_ns"].median()) / 1e6,
            "cpu_ms": float(of_case["cpu_ns"].median()) / 1e6,
            "MB": float(of_case["store.n_bytes"].median()) / 1e6,
            "reads": float(of_case["store.n_reads"].median()),
        }
    return found


def table(found: Figures) -> str:
    """The table: time from the start of the process and warm, by engine, and what was read."""
    rows = [
        [
            "query", "start: arrowroot", "uproot", "RDataFrame", "warm: arrowroot", "uproot", "RDataFrame",
            "ratio to the best peer, start", "warm", "MB: arrowroot", "uproot", "RDataFrame",
        ]
    ]  # fmt: skip
    for query in QUERIES:
        start, warm = ([found.get((one, f"Q{query}{how}")) for one in ENGINES] for how in ("", ", warm"))
        rows.append(
            [
                f"Q{query}", *(_shown(one, "ms", ".0f") for one in start), *(_shown(one, "ms", ".1f") for one in warm),
                _ratio(start), _ratio(warm), *(_shown(one, "MB", ".2f") for one in start),
            ]
        )  # fmt: skip
    return markdown(rows[0], rows[1:])


def _shown(one: dict[str, float] | None, key: str, form: str) -> str:
    return "" if one is None else format(one[key], form)


def _ratio(of_engines: list[dict[str, Any] | None]) -> str:
    own, *peers = of_engines
    times = [peer["ms"] for peer in peers if peer is not None]
    return f"{own['ms'] / min(times):.2f}" if own is not None and times else ""


if __name__ == "__main__":
    main()
