"""The benchmarks are a package of their own whose definitions fit together, and wrong values are told."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from bench import nano_schema
from bench.scale import table as scale_table
from bench.scale.reading import Run
from campaigns.parallel_output import policies, scale
from campaigns.parallel_output.cases import Outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
ROOTS = {"bench": REPOSITORY, "campaigns": REPOSITORY, "arrowroot_servers": REPOSITORY / "lab"}
SOURCES = [path for folder, below in ROOTS.items() for path in sorted((below / folder).rglob("*.py"))]
#: Imports of each that may not be.
FORBIDDEN = {
    "bench": {"tests"},
    "campaigns": {"tests"},
    "arrowroot_servers": {"tests", "bench", "campaigns", "arrowroot"},
}


def below_root(path):
    return path.relative_to(next(below / name for name, below in ROOTS.items() if name in path.parts).parent)


def module_name(path):
    parts = below_root(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path):
    """Return the names of the modules that a file imports, relative ones too."""
    found = set()
    package = below_root(path).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            start = ".".join(filter(None, [base, node.module]))
            found |= {start} | {f"{start}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_nothing_is_imported_from_the_tests_or_by_another_path(path):
    forbidden = FORBIDDEN[below_root(path).parts[0]]
    assert {name for name in imported(path) if name.partition(".")[0] in forbidden} == set()
    used = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys"
    }
    assert "path" not in used


def test_imports_of_the_benchmarks_make_no_circle():
    modules = {module_name(path): imported(path) for path in SOURCES}
    arrows = {
        name: {other for other in found if other in modules} - {name} for name, found in modules.items()
    }
    while leaves := {name for name, found in arrows.items() if not found}:
        arrows = {name: found - leaves for name, found in arrows.items() if name not in leaves}
    assert arrows == {}


def test_nothing_needs_what_is_outside_of_the_repository():
    texts = [
        path
        for place in ("bench", "campaigns/programs")
        for path in (REPOSITORY / place).rglob("*")
        if path.suffix in (".py", ".toml", ".cxx", ".hxx")
    ]
    assert len(texts) > 20
    assert [path.name for path in texts if "../shared" in path.read_text(encoding="utf-8")] == []


#: A generator that looks at what it is told to make data by.
GENERATOR = """#!/bin/sh
grep -q '"branches"' "$1" && echo "drawn from its definition" >&2
exit 1
"""


def test_campaigns_need_nothing_but_the_files_beside_them(tmp_path):
    """Who has no clone has their directory: data are made by what is in it, and so are programs."""
    shutil.copytree(REPOSITORY / "campaigns", tmp_path / "campaigns")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "generate_nano").write_text(GENERATOR)
    (programs / "generate_nano").chmod(0o755)
    variables = {**os.environ, "ARROWROOT_BENCH": str(tmp_path), "CXX": "true"}

    def said(*words):
        command = [sys.executable, str(tmp_path / "campaigns" / words[0]), *words[1:]]
        done = subprocess.run(
            command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    assert "drawn from its definition" in said(
        "reading/data.py", str(tmp_path), "nano", "none", "ttree", "10"
    )
    if find_spec("ROOT") is not None:
        assert "clone of arrowroot" not in said("reading/native.py", "root-bulk", "identify")
        assert "compiling open_root" in said("programs/build.py", "open_root")


def test_every_branch_of_the_nano_definition_has_values_and_a_counter_that_exists():
    branches = json.loads(nano_schema.PATH.read_text())["branches"]
    names = [branch["name"] for branch in branches]
    assert len(names) == len(set(names)) == 947
    for branch in branches:
        assert branch["type"] in nano_schema.CODES.values()
        assert branch.get("counter") is None or branch["counter"] in names
        assert len(branch.get("quantiles", [])) in (0, nano_schema.N_QUANTILES)
    told = tomllib.loads((REPOSITORY / "campaigns" / "reading.toml").read_text(encoding="utf-8"))
    cases = [case for name, case in told["workload"].items() if name.startswith("nano ")]
    assert {name for case in cases for name in case["columns"]} - {"[!_]*"} <= set(names)


def test_definition_of_values_has_frequent_ones_and_quantiles_of_the_others():
    column = pa.chunked_array(
        [pa.array([[0.0] * 50, [float(k) + 0.5 for k in range(50)]], pa.list_(pa.float32()))]
    )
    told = nano_schema.branch("Jet_pt", column, "nJet")
    assert told["values"] == [[0, 50]]
    assert told["others"] == 50
    assert (told["quantiles"][0], told["quantiles"][-1]) == (0.5, 49.5)
    # 0.5 has a mantissa of zeros, 49.5 needs six bits of it.
    assert told["zero_bits"] == 17


@pytest.mark.parametrize(
    "module",
    [
        "bench.against",
        "bench.filters",
        "bench.nano_schema",
        "bench.scale.producers",
        "bench.scale.table",
        "campaigns.parallel_output",
    ],
)
def test_each_command_tells_its_options(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_gains_of_sixteen_cores_are_predictions_until_there_are_sixteen():
    case = scale_table.Case("read", lambda _: runs[1], 10**6, "12", 0.02)
    runs = {
        1: Run(1.0, 1.0, {"place": 0.01, "lock": 0.001}),
        2: Run(0.5, 1.0, {}),
        16: Run(0.6, 1.2, {}),
    }
    cells = ["read", "1", "2.00", "0.83 **no**", "1.1% (place 1.0%)", "at most 13.7, predicted", "12"]
    assert scale_table.row_of(case, runs, 2) == cells
    assert scale_table.row_of(case, runs, 16)[5] == "1.7, measured"
    runs[1] = Run(1.0, 1.0, {"place": 0.03})
    assert scale_table.row_of(case, runs, 2)[4] == "3.0% (place 3.0%) **no**"


def test_memory_may_grow_by_the_record_of_the_tree_and_by_nothing_else():
    def complaints(most_mb: int, n_columns: int, n_clusters: int) -> list[str]:
        steps = ("conversion", "collecting", "tasks", "placing", "closing")
        memory = [*[100e6] * 30, *[most_mb * 1e6] * 10]
        run = {f"{step}_ns": 1 for step in steps} | {"cpu_ns": len(steps), "sampling_ns": 0}
        samples = [(number, 0, 0, 0, n_bytes) for number, n_bytes in enumerate(memory)]
        return scale.check("a run", n_columns, run | {"queue": samples, "n_clusters": n_clusters})

    assert complaints(120, 100, 100) == complaints(240, 10_000, 60) == []
    assert complaints(250, 100, 100) == ["a run: memory grows from 100 to 250 MB"]
    assert complaints(400, 10_000, 60) == ["a run: memory grows from 100 to 400 MB"]


def test_streams_of_the_fullest_buffer_must_do_what_they_could():
    def complaints(policy: str, on_threads: float) -> list[str]:
        runs = [dict.fromkeys(Outcome._fields, 1.0) | {"efficiency": of} for of in (0.96, on_threads)]
        case = {"n_streams": 64, "policy": policy, "virtual": runs[:1], "threads": runs[1]}
        return policies.streams_table({"n_events": 1, "scale": 1.0, "cases": [case]}).complaints

    assert complaints("fullest", 0.95) == complaints("single", 0.9) == []
    assert complaints("fullest", 0.94) == ["64 streams, fullest, threads: efficiency 0.9400"]
