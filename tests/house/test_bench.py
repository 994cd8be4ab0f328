"""The benchmarks are a package of their own whose definitions fit together, and wrong values are told."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from arrowroot._layout.settings import codec_number
from bench import catalogue, machine, nano_schema, runner
from bench.catalogue import Engine
from bench.digest import digest, digest_values
from bench.parallel_output import scale
from bench.reading import told
from bench.run import complain
from bench.write import tables
from tests.judge import root

REPOSITORY = Path(__file__).parents[2]
ROOTS = {"bench": REPOSITORY, "arrowroot_servers": REPOSITORY / "lab"}
SOURCES = [path for folder, below in ROOTS.items() for path in sorted((below / folder).rglob("*.py"))]
#: Imports of each that may not be.
FORBIDDEN = {"bench": {"tests"}, "arrowroot_servers": {"tests", "bench", "arrowroot"}}


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
        path for path in (REPOSITORY / "bench").rglob("*") if path.suffix in (".py", ".toml", ".cxx", ".hxx")
    ]
    assert len(texts) > 30
    assert [path.name for path in texts if "../shared" in path.read_text(encoding="utf-8")] == []


def case_exists(name, task):
    of, _, case = name.partition(":")
    if task == "aod":
        dataset = catalogue.datasets()["aod"]
        return of in dataset.layouts and case in dataset.cases
    return case in catalogue.datasets()[of].cases


def test_engines_are_complete():
    assert len({engine.name for engine in catalogue.engines()}) == len(catalogue.engines())
    for engine in catalogue.engines():
        assert engine.role in ("limit", "peer", "subject"), engine.name
        assert engine.format in ("ttree", "rntuple", "any"), engine.name
        assert set(engine.tasks) <= {"read", "aod", "open", "remote", "write"}, engine.name
        assert engine.store is None or engine.store in catalogue.load("remote")["stores"]
        programs = {path.stem for path in (REPOSITORY / "bench" / "programs").glob("*.cxx")}
        program = engine.command[0]
        if program.startswith("{bin}/"):
            assert program.removeprefix("{bin}/") in programs
        else:
            module = engine.command[engine.command.index("-m") + 1]
            assert module in {module_name(path) for path in SOURCES}


def test_cases_of_reading_name_engines_data_sets_and_codecs_that_exist():
    definition, data = catalogue.load("read"), catalogue.load("datasets")
    names = [case["name"] for case in definition["case"]]
    assert all(case_exists(name, "read") for name in names)
    assert {row["case"] for row in definition["readme"]} <= set(names)
    assert set(definition["slow_codecs"]) <= set(data["codecs"])
    for group in definition["group"]:
        assert set(group["codecs"]) <= set(data["codecs"])
        assert group.get("set") is None or group["set"] in data["sets"]
        assert [engine.name for engine in catalogue.matching(group["engines"], "read")] == group["engines"]
    catalogue.matching(definition["open"]["engines"], "open")
    for place in ("open", "process"):
        assert definition[place]["codec"] in data["codecs"]
    assert {*definition["open"]["datasets"], definition["process"]["dataset"]} <= set(catalogue.datasets())


def test_parts_of_formats_name_engines_and_cases_that_exist():
    for part in catalogue.load("formats")["part"]:
        assert all(case_exists(name, part["task"]) for name in part["cases"])
        for engine in catalogue.matching([*part["engines"], part["limit"]], part["task"]):
            assert engine.format == part["format"]
            assert any(engine.takes(name) for name in part["cases"])


def test_remote_cases_name_engines_and_data_sets_that_exist():
    definition = catalogue.load("remote")
    cases = [*definition["wall"]["cases"], *definition["lists"]["cases"], *definition["tune"]["cases"],
             definition["efficiency"]["case"]]  # fmt: skip
    assert all(case_exists(name, "read") for name in cases)
    catalogue.matching(definition["peers"]["engines"], "remote")
    assert set(definition["peers"]["datasets"]) <= set(catalogue.datasets())
    for reader in definition["lists"]["readers"]:
        engine = catalogue.engine(reader["engine"])
        assert "remote" in engine.tasks
        assert engine.store in (None, reader["store"])


def test_cases_of_two_commits_name_data_sets_that_exist():
    definition = catalogue.load("against")
    assert definition["set"] in catalogue.load("datasets")["sets"]
    for case in definition["case"]:
        assert "," not in case["name"]  # `--cases` has names with commas between them
        if case["task"] in ("import", "write"):
            continue
        dataset = catalogue.datasets()[case["dataset"]]
        assert case["codec"] in definition["codecs"]
        assert case.get("layout", "ttree") in dataset.layouts
        assert case["task"] == "open" or case["columns"] in dataset.cases


def test_cases_of_writing_are_complete_and_ask_for_what_can_be_written():
    definition = catalogue.load("write")
    names = [case["name"] for case in definition["case"]]
    assert len(names) == len(set(names))
    numbers = [codec["number"] for codec in definition["codec"]]
    assert len(numbers) == len(set(numbers))
    for codec in definition["codec"]:
        assert codec_number(codec["number"]) == codec["number"]
        assert codec["repetitions"] >= 1
    assert set(definition["memory"]["cases"]) <= set(names)
    assert definition["memory"]["codec"] in numbers
    assert set(definition["peer_targets"]) == set(tables.ROOT_WRITERS)
    known = {engine.name: engine for engine in catalogue.matching(["*"], "write")}
    root_writers = {name for of_layout in tables.ROOT_WRITERS.values() for name in of_layout}
    assert known.keys() == {tables.SUBJECT, tables.FACE, tables.LIMIT, tables.UPROOT} | root_writers


def write_row(engine, threads, **sample):
    return {"engine": engine, "threads": threads, "error": None, "wrong": None, "samples": [sample]}


def test_rows_of_writing_that_miss_a_target_are_told_above_the_tables():
    result = {
        "title": "case", "codec": "zstd 5", "layout": "ttree", "target": 1.2, "with_pass": False,
        "payload_bytes": 10**6,
        "rows": [
            write_row(tables.SUBJECT, 1, wall_ns=115, cpu_ns=110),
            write_row(tables.SUBJECT, 2, wall_ns=60),
            write_row(tables.LIMIT, 1, wall_ns=100, cpu_ns=100),
            write_row(tables.FACE, 1, wall_ns=130),
            write_row("root-ttree-writer", 1, wall_ns=260),
        ],
    }  # fmt: skip
    assert tables.all_tables([result], []).startswith("All 1 rows meet all targets.")
    slow = [write_row(tables.SUBJECT, 1, wall_ns=150, cpu_ns=110), write_row("uproot-writer", 1, wall_ns=65)]
    shown = tables.all_tables([result | {"rows": slow + result["rows"][1:]}], [])
    limit, uproot = [line for line in shown.splitlines() if line.startswith("- ")]
    assert "case, zstd 5, ttree: 1.10 of the limit's CPU time, 1.50 of its wall time" in limit
    assert "case, zstd 5, ttree: 0.50 times as fast" in uproot
    # With the pass before, the limit is another figure.
    passed = write_row(tables.LIMIT, 1, wall_ns=1, cpu_ns=1, with_pass_wall_ns=100, with_pass_cpu_ns=100)
    rows = [passed if row["engine"] == tables.LIMIT else row for row in result["rows"]]
    shown = tables.all_tables([result | {"rows": rows, "with_pass": True}], [])
    assert shown.startswith("All 1 rows meet all targets.")


def test_every_branch_of_the_nano_definition_has_values_and_a_counter_that_exists():
    branches = json.loads(nano_schema.PATH.read_text())["branches"]
    names = [branch["name"] for branch in branches]
    assert len(names) == len(set(names)) == 947
    for branch in branches:
        assert branch["type"] in nano_schema.CODES.values()
        assert branch.get("counter") is None or branch["counter"] in names
        assert len(branch.get("quantiles", [])) in (0, nano_schema.N_QUANTILES)
    cases = catalogue.datasets()["nano"].cases.values()
    assert {name for case in cases for name in case["columns"] if name != "*"} <= set(names)


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


def test_checksums_of_arrow_and_numpy_are_those_of_the_definition():
    # n, sum of bits, and sum of (i + 1) * bits; lists add their lengths times the factor (README.md).
    values, lengths = [3, 5, 7], [2, 0, 1]
    order = (1 * 3 + 2 * 5 + 3 * 7 + 0x9E3779B97F4A7C15 * (1 * 2 + 3 * 1)) % 2**64
    wanted = {"n": 3, "sum": f"{15:016x}", "order": f"{order:016x}"}
    lists = pa.chunked_array(
        [pa.array([[3, 5], []], pa.list_(pa.int32())), pa.array([[7]], pa.list_(pa.int32()))]
    )
    assert digest(lists) == wanted
    assert digest_values(pa.array(values, pa.int32()).to_numpy(), pa.array(lengths).to_numpy()) == wanted


ENGINE = """
import json, sys
job = json.load(sys.stdin)
answer = {{"wall_ns": 1000, "cpu_ns": 1000, "n_entries": 2, "checksum": {{"x": {checksum}}}}}
print("what a library says first")
print(json.dumps(answer))
"""
RIGHT = {"n": 2, "sum": "0000000000000003", "order": "0000000000000005"}


def engine_of(tmp_path, name, role, checksum):
    script = tmp_path / f"{name}.py"
    script.write_text(ENGINE.format(checksum=json.dumps(checksum)))
    return Engine(name, (sys.executable, str(script)), ("read",), "any", role)


def measured(tmp_path, capsys, *engines):
    rows = [runner.Row(engine_of(tmp_path, *engine), "ttree", 1, {"task": "read"}) for engine in engines]
    runner.run_in_turns(rows, 2)
    runner.compare_contents(rows)
    status = complain([told("case", rows)])
    return status, capsys.readouterr().err


def test_engines_that_agree_at_the_process_line_are_no_complaint(tmp_path, capsys):
    assert measured(tmp_path, capsys, ("peer", "peer", RIGHT), ("ours", "subject", RIGHT)) == (0, "")


@pytest.mark.parametrize(
    ("checksum", "reason"),
    [
        (RIGHT | {"sum": "0000000000000004"}, "column x: sum"),
        (RIGHT | {"order": "0000000000000004"}, "column x: order"),
        ({"n": 2, "sum": RIGHT["sum"]}, "no order"),
    ],
)
def test_engine_that_answers_a_wrong_checksum_makes_the_command_fail(tmp_path, capsys, checksum, reason):
    status, said = measured(tmp_path, capsys, ("peer", "peer", RIGHT), ("liar", "subject", checksum))
    assert status == 1
    assert "liar" in said
    assert reason in said


def test_nothing_is_right_without_a_peer(tmp_path, capsys):
    status, said = measured(tmp_path, capsys, ("ours", "subject", RIGHT))
    assert status == 1
    assert "no peer" in said


def test_engine_that_claims_more_time_than_its_process_took_is_not_believed():
    answer = {"wall_ns": 50, "cpu_ns": 10, "process_wall_ns": 40, "process_cpu_ns": 10}
    assert "wall_ns is 50" in runner.check_times(answer)["error"]


def test_engine_that_ends_without_an_answer_is_told_with_what_it_said(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text("raise ValueError('no such file')")
    engine = Engine("broken", (sys.executable, str(script)), ("read",), "any", "subject")
    answer = runner.ask(engine, {"task": "read"})
    assert answer == {"error": "exit status 1: ValueError: no such file"}


@pytest.mark.parametrize(
    "module",
    ["run", "formats", "kinds", "remote", "small_servers", "tune", "filters", "data", "nano_schema", "write"],
)
def test_each_command_tells_its_options(module):
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", "--help"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


@pytest.mark.parametrize("module", ["bench.parallel_output", "bench.parallel_output.told"])
def test_a_part_that_is_none_is_named_with_those_that_are(module, tmp_path):
    command = [sys.executable, "-m", module, "--parts", "nonsense"]
    command += [str(tmp_path / "out.json")] if module.endswith("told") else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no part 'nonsense': there are policy, threads" in done.stderr


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


def test_the_version_of_root_is_its_own_and_not_that_of_its_wheel(tmp_path):
    pytest.importorskip("ROOT")
    code = "std::string version() { return gROOT->GetVersion(); }"
    (version,) = root.interpreted(tmp_path, code, ("version",))
    assert machine.packages().startswith(f"ROOT {version}, ")
