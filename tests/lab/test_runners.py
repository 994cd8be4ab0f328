"""Runners at the process line: those that lie are not believed, and those that are built in agree about values."""

import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import arrowroot
from arrowroot._report import fjr
from arrowroot_lab.campaign.model import EngineChoice
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.engines.ask import ask, ask_together
from arrowroot_lab.errors import LabError, RunnerError, SkippedError, TimedOutError
from arrowroot_lab.redaction import redacted
from arrowroot_lab.runners.arrowroot_runner import layers_of
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.subjects import Engines
from tests.command import done_here
from tests.lab.running import PATIENCE_S, is_there, wait_until
from tests.recorded import session

REPOSITORY = Path(__file__).resolve().parents[2]
FAKE = [sys.executable, str(Path(__file__).with_name("fake_runner.py"))]
N_ENTRIES = 3_000
GOOD = {"wall_ns": 1000, "cpu_ns": 0, "n_entries": 3}


def runner(tmp_path, program):
    """A runner that is this program, after which stdin has been read."""
    path = tmp_path / "runner.py"
    path.write_text(f"import json, os, sys, time\njob = json.load(sys.stdin)\n{program}\n")
    return [sys.executable, str(path)]


def test_an_answer_comes_with_what_the_process_took(tmp_path):
    asked = ask(
        runner(tmp_path, f"x = bytearray(50_000_000)\nprint('a word')\nprint({json.dumps(GOOD)!r})"),
        "run",
        {"table": "T"},
    )
    assert asked.answer == GOOD
    assert asked.wall_ns > asked.answer["wall_ns"]
    assert asked.cpu_ns == asked.user_ns + asked.system_ns > 0
    assert asked.peak_rss_bytes > 50_000_000


def test_answers_that_cannot_be_true_and_runners_without_one_have_failed(tmp_path):
    def asked(program):
        return ask(runner(tmp_path, program), "run", {}).answer

    def answered(answer):
        return asked(f"print({json.dumps(answer)!r})")

    names = {"asked": asked, "answered": answered, "ask": ask, "json": json, "GOOD": GOOD}
    session("runners", tmp_path, names, [(r"whole process .*", "whole process ...")])


def test_texts_of_an_answer_are_as_documents_can_hold_them(tmp_path):
    told = GOOD | {"details": {"na\0me": ["caf\udce9", "caf\u00e9 \U0001f600"]}}
    answer = ask(runner(tmp_path, f"print({json.dumps(told)!r})"), "run", {}).answer
    assert answer["details"] == {"na\ufffdme": ["caf\ufffd", "caf\u00e9 \U0001f600"]}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output_ends_the_runner(tmp_path, stream):
    program = f"while True: sys.{stream}.write('x' * (1 << 20))"
    with pytest.raises(RunnerError, match=f"more than 16 MiB to its {stream}"):
        ask(runner(tmp_path, program), "run", {})


SECRET_URL, SHOWN_URL = (
    "https://me:SECRET@host:1094//d/x.root?authz=SECRET",
    "https://host:1094//d/x.root?authz=...",
)


@pytest.mark.parametrize(
    "program",
    [
        "print(json.dumps({KEY: f'{job[\"urls\"][0]} cannot be opened'}))",
        "sys.exit(f'error: {job[\"urls\"][0]}: timed out')",
        "print(json.dumps({KEY: f'in {job[\"urls\"]}, a list'}))",
    ],
)
@pytest.mark.parametrize("key", ["error", "unsupported", "refused"])
def test_why_a_runner_failed_is_told_without_what_is_secret_in_urls(tmp_path, program, key):
    with pytest.raises(LabError) as raised:
        ask(runner(tmp_path, program.replace("KEY", repr(key))), "run", {"urls": [SECRET_URL]})
    assert SHOWN_URL in str(raised.value)
    assert "SECRET" not in str(raised.value)


def test_what_a_runner_tells_besides_has_no_secrets_of_urls(tmp_path):
    program = f"print(json.dumps({GOOD!r} | {{'details': {{'of': [{{'pfn': job['urls'][0]}}], 'n': 5}}}}))"
    details = ask(runner(tmp_path, program), "run", {"urls": [SECRET_URL]}).answer["details"]
    assert details == {"of": [{"pfn": SHOWN_URL}], "n": 5}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("(see https://h/a?b=c).", "(see https://h/a?b=..."),
        ("root://u@h//a@b.root?c: no", "root://h//a@b.root?...: no"),
        ("s3://key:word@bucket/x, s3://y", "s3://bucket/x, s3://y"),
        ("https://h?token=1#x", "https://h?token=..."),
        ("no URL: a@b?c", "no URL: a@b?c"),
    ],
)
def test_urls_are_shown_without_users_and_queries(said, shown):
    assert redacted(said) == shown


def test_one_that_hangs_is_killed_with_all_that_it_started(tmp_path):
    pids = tmp_path / "pids"
    program = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\ntime.sleep(600)"
    )
    with pytest.raises(TimedOutError, match="not done after"):
        ask(runner(tmp_path, program), "run", {}, timeout_s=5)
    for pid in map(int, pids.read_text().split()):
        wait_until(lambda pid=pid: not is_there(pid))


def test_ctrl_c_ends_the_runner_at_once(tmp_path):
    pid_file = tmp_path / "pid"
    command = runner(tmp_path, f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    asking = subprocess.Popen(
        [sys.executable, "-c", f"from arrowroot_lab.engines.ask import ask\nask({command!r}, 'run', {{}})"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: pid_file.exists() and pid_file.read_text())
    asking.send_signal(signal.SIGINT)
    _, said = asking.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in said
    wait_until(lambda: not is_there(int(pid_file.read_text())))


def test_several_workers_begin_together(tmp_path):
    log = tmp_path / "log"
    jobs = [{"entry_range": [0, 40]}, {"entry_range": [40, 100]}]
    asked = ask_together([*FAKE, f"log={log}", "late_s=0.3"], "run", jobs)
    assert [one.answer["n_entries"] for one in asked] == [40, 60]
    told = [json.loads(line) for line in log.read_text().splitlines()]
    ready = [one["at_ns"] for one in told if one.get("is_ready")]
    begun = [one["at_ns"] for one in told if one.get("is_begun")]
    assert len(ready) == len(begun) == 2
    assert min(begun) > max(ready)


def test_of_several_workers_one_that_dies_ends_the_others(tmp_path):
    program = "if job['i']: raise ValueError('died')\ntime.sleep(600)"
    with pytest.raises(RunnerError, match="died"):
        ask_together(runner(tmp_path, program), "run", [{"i": 1}, {"i": 0}])


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 5, N_ENTRIES)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    inner = rng.integers(0, 3, ends[-1])
    inner_ends = np.concatenate([[0], np.cumsum(inner)]).astype(np.int32)
    nested = pa.ListArray.from_arrays(inner_ends, pa.array(rng.random(inner_ends[-1], dtype=np.float32)))
    return pa.table(
        {
            "run": rng.integers(0, 1 << 31, N_ENTRIES).astype(np.int32),
            "event": rng.integers(0, 1 << 62, N_ENTRIES).astype(np.uint64),
            "charge": rng.integers(-100, 100, N_ENTRIES).astype(np.int8),
            "bits": rng.integers(0, 1 << 16, N_ENTRIES).astype(np.uint16),
            "is_good": rng.random(N_ENTRIES) < 0.5,
            "met": rng.random(N_ENTRIES),
            "pt": pa.ListArray.from_arrays(ends, pa.array(rng.random(ends[-1], dtype=np.float32))),
            "tight": pa.ListArray.from_arrays(ends, pa.array(rng.random(ends[-1]) < 0.5)),
            "hits": pa.ListArray.from_arrays(ends, nested),
        }
    )


@pytest.fixture(scope="module")
def files(values, tmp_path_factory):
    directory = tmp_path_factory.mktemp("runners")
    for layout in ("ttree", "rntuple"):
        arrowroot.write(f"{directory}/{layout}.root:Events", values, layout=layout, flush=1000)
    return directory


@pytest.fixture(params=["ttree", "rntuple"])
def file(request, files):
    return files / f"{request.param}.root"


def job_of(path):
    return {"urls": [str(path)], "table": "Events", "wants_checksum": True, "kind": "read"}


@pytest.fixture
def job(file):
    return job_of(file)


@pytest.fixture
def tree(files):
    """The job of the TTree."""
    return job_of(files / "ttree.root")


def checksum(name, job, **more):
    return ask(registered().engines[name].command(), "run", {**job, **more}).answer


def answers(asked):
    """The answers to pairs of an engine and a job. Two at a time: each is a process of its own, and starts slowly."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda one: checksum(*one), asked))


def test_engines_agree_about_values(file, job, values):
    others = ["uproot"]
    if "ROOT" in _installed():  # first, as it takes the longest
        others.insert(0, "root" if file.stem == "ttree" else "root-rntuple")
    *said, told = answers((name, job) for name in (*others, "arrowroot"))
    assert told["n_entries"] == N_ENTRIES
    assert set(told["checksum"]) == set(values.column_names)
    # By hand: the sum of bit patterns, and that of them times their places.
    numbers = values["run"].to_numpy().view(np.uint32).astype(object)
    order = sum((i + 1) * x for i, x in enumerate(numbers.tolist())) % (1 << 64)
    assert told["checksum"]["run"] == {
        "n": N_ENTRIES, "sum": f"{sum(numbers.tolist()):016x}", "order": f"{order:016x}"
    }  # fmt: skip
    for name, other in zip(others, said, strict=True):
        assert other["n_entries"] == N_ENTRIES, name
        common = set(other["checksum"]) & set(values.column_names)
        assert len(common) >= len(values.column_names) - 1, name
        assert {one: other["checksum"][one] for one in common} == {
            one: told["checksum"][one] for one in common
        }, name


@pytest.mark.long
def test_a_part_of_the_entries_is_the_same_from_all(file, job, tmp_path):
    entries = tmp_path / "entries"
    entries.write_text("".join(f"{n}\n" for n in (0, 7, 999, 1000, 2999, 3000, 5999)))
    more = {"urls": [str(file), str(file)], "columns": ["run", "pt"]}
    parts = ({"entries": str(entries)}, {"entry_range": [2500, 4000]})
    asked = [(name, part) for part in parts for name in ("arrowroot", "uproot")]
    if "ROOT" in _installed() and file.stem == "ttree":
        # cling takes a third of a second for each type of a frame's columns.
        asked = [*zip(("root-rdataframe", "root"), reversed(parts), strict=True), *asked]
    told = answers((name, {**job, **more, **part}) for name, part in asked)
    for part in parts:
        of_part = [one for (_, of), one in zip(asked, told, strict=True) if of is part]
        assert {one["n_entries"] for one in of_part} == {7 if "entries" in part else 1500}
        assert all(one["checksum"] == of_part[0]["checksum"] for one in of_part)


@pytest.mark.long
def test_entry_by_entry_root_reads_the_same(tree):
    if "ROOT" not in _installed():
        pytest.skip("ROOT is not installed")
    job = {**tree, "columns": ["run", "is_good", "pt", "tight"]}
    one, other = answers([("root", {**job, "order": "entry"}), ("arrowroot", job)])
    assert one["checksum"] == other["checksum"]
    with pytest.raises(SkippedError, match="entry by entry"):
        checksum("uproot", tree, order="entry")


@pytest.mark.long
def test_copies_have_the_values_of_their_origin(file, job, tmp_path):
    is_roots = "ROOT" in _installed() and file.stem == "ttree"
    writers = [*(["root"] if is_roots else []), "arrowroot", "uproot"]
    outs = {name: tmp_path / f"{name}.root" for name in writers}
    job = {**job, "columns": ["run", "pt"]}
    copying = {**job, "kind": "write", "settings": {"compression": "zstd:3"}}
    written = answers((name, {**copying, "out": str(out)}) for name, out in outs.items())
    for out, told in zip(outs.values(), written, strict=True):
        assert told["n_entries"] == N_ENTRIES
        assert told["counters"]["written"]["n_bytes"] == out.stat().st_size
    read = answers(("arrowroot", {**job, "urls": [str(path)]}) for path in (file, *outs.values()))
    origin, *copies = [one["checksum"] for one in read]
    assert dict.fromkeys(outs, origin) == dict(zip(outs, copies, strict=True))


def test_pandas_is_not_imported_while_reading_is_timed(tree, tmp_path):
    python, *runner = registered().engines["arrowroot"].command()
    done = subprocess.run(
        [python, "-X", "importtime", *runner, "run"], input=json.dumps(tree | {"trace": f"{tmp_path}/t.parquet"}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1])["n_entries"] == N_ENTRIES
    assert not [
        line for line in done.stderr.splitlines() if "| " in line and line.split()[-1].startswith("pandas.")
    ]


def test_a_prediction_follows_the_line(tree):
    def predicted(latency_ns):
        line = {"latency_ns": latency_ns, "bytes_per_s": 1e8}
        asked: dict = {**tree, "wants_checksum": False, "line": line, "scheme": "root", "strategy": "direct"}
        return ask(registered().engines["arrowroot"].command(), "predict", asked).answer

    near, far = predicted(1e6), predicted(1e8)
    assert near["by"] == far["by"] == "replay"
    assert 0 < far["error_share"] < 1
    assert near["counters"]["store"]["n_reads"] == far["counters"]["store"]["n_reads"] > 0
    n_waits = (far["wall_ns"] - near["wall_ns"]) / (1e8 - 1e6)
    assert 0.9 < n_waits <= near["counters"]["store"]["n_reads"] + 1


@pytest.mark.parametrize("report", ["fjr", "trace", "proc"])
def test_a_program_tells_by_its_report(tree, report):
    option = {"fjr": ["--fjr", "{report}"], "trace": ["--trace", "{report}"], "proc": []}[report]
    command = [sys.executable, "-m", "arrowroot", "perf", "{url}:{table}", "-c", "run", *option]
    asked = ask(
        registered().engines["program"].command(),
        "run",
        {**tree, "kind": "program", "command": command, "report": report},
    )
    counters = asked.answer["counters"]
    assert counters["process"]["n_bytes"] > 10_000
    assert asked.answer["wall_ns"] < asked.wall_ns
    assert ("store" in counters) == (report != "proc")
    assert report == "proc" or counters["store"]["n_bytes"] > 1000


def test_what_a_program_prints_as_json_becomes_details(tree):
    command = [
        sys.executable,
        "-c",
        "import json, sys; print(json.dumps(dict(found=3))); print('x', file=sys.stderr)",
    ]
    asked = {**tree, "kind": "program", "command": command, "report": "json"}
    details = ask(registered().engines["program"].command(), "run", asked).answer["details"]
    assert details == {"command": command, "found": 3}
    command[-1] = "print('nothing')"
    with pytest.raises(RunnerError, match="JSONDecodeError"):
        ask(registered().engines["program"].command(), "run", asked)


def test_a_job_report_has_as_many_reads_of_the_store_as_the_model_says(tmp_path):
    around = ["attempt", "block-cache", "xrootd-requests", "replica 1", "readahead", "local-cache"]
    around += ["tables", "compress", "queue", "opening", "tstoragefile"]
    counters = [
        fjr.Counter(subsystem, operation, n, n, 2.0, 1.0, 0.1, 0.5)
        for subsystem in ["root", "http", *around]
        for operation, n in (("readv", 14), ("read", 3))
    ]
    report = tmp_path / "report.xml"
    report.write_text(fjr.document(counters, url="root://host//x.root", n_entries=1))
    job = {"kind": "program", "urls": ["x"], "table": "T", "command": ["cp", str(report), "{report}"]}
    told = ask(registered().engines["program"].command(), "run", {**job, "report": "fjr"}).answer["counters"]
    figures = json.loads(done_here("model", "--json", report))["predictions"][0]
    assert told["store"]["n_reads"] + told["store"]["n_vector_reads"] == figures["n_reads"] == 2 * (14 + 3)
    assert told["store"]["n_bytes"] == figures["megabytes"] * 2**20 == 2 * 4 * 2**20
    assert {name: told[name]["n_vector_reads"] for name in around[:-1]} == dict.fromkeys(around[:-1], 14)
    assert told["application"]["n_vector_reads"] == 14


def test_a_program_is_told_by_its_command_without_urls():
    job = {"kind": "program", "urls": [SECRET_URL], "table": "T", "command": ["true", "{url}", "in={urls}"]}
    answer = ask(registered().engines["program"].command(), "run", job).answer
    assert answer["details"]["command"] == job["command"]
    assert "SECRET" not in json.dumps(answer)


MEMORY = """
import mmap, sys, time
held = mmap.mmap(-1, 700_000_000), bytearray(90_000_000)
end = time.thread_time() + 0.3
while time.thread_time() < end:
    pass
time.sleep(0.2)
"""


def test_a_program_tells_its_own_peaks_of_memory_and_times():
    job = {"kind": "program", "urls": ["x"], "table": "T", "command": [sys.executable, "-c", MEMORY]}
    asked = ask(registered().engines["program"].command(), "run", job)
    assert asked.answer["peak_virtual_bytes"] > 700_000_000 > asked.answer["peak_rss_bytes"] > 90_000_000
    assert asked.user_ns + asked.system_ns > 250_000_000
    assert 0 <= asked.answer["queued_ns"] <= asked.answer["wall_ns"]


def test_the_wait_for_a_processor_beside_others_is_told(tmp_path):
    """Three busy processes beside it on one processor."""
    program = """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
sys.path.insert(0, RUNNERS)
import process_line, subprocess
watch = process_line.Stopwatch()
others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
end = time.thread_time() + 0.5
while time.thread_time() < end:
    pass
answer = watch.answer() | {"n_entries": 1}
for other in others:
    other.kill()
print(json.dumps(answer))
""".replace("RUNNERS", repr(str(REPOSITORY / "lab/arrowroot_lab/runners")))
    answer = ask(runner(tmp_path, program), "run", {}).answer
    assert 300_000_000 < answer["queued_ns"] <= answer["wall_ns"] - 400_000_000
    assert answer["peak_virtual_bytes"] > answer["peak_rss_bytes"] > 1_000_000


def test_a_program_that_fails_says_what_it_said(tree):
    command = [sys.executable, "-c", "import sys; sys.exit('error: no such lumi section')"]
    with pytest.raises(RunnerError, match="exit status 1: error: no such lumi section"):
        ask(registered().engines["program"].command(), "run", {**tree, "kind": "program", "command": command})
    with pytest.raises(RunnerError, match="wrote no report"):
        ask(
            registered().engines["program"].command(),
            "run",
            {**tree, "kind": "program", "command": ["true"], "report": "fjr"},
        )


def test_perf_of_arrowroot_is_an_engine(tree):
    told = ask(
        registered().engines["arrowroot-perf"].command(),
        "run",
        {**tree, "wants_checksum": False, "columns": ["run"]},
    ).answer
    assert told["n_entries"] == N_ENTRIES
    assert told["counters"]["store"]["n_bytes"] > 0
    assert told["details"]["perf"]["n_columns"] == 1


def test_a_table_is_read_again_in_the_memory_that_the_process_has(tree):
    asked = {**tree, "columns": ["run", "charge"]}
    whole = ask(registered().engines["arrowroot"].command(), "run", asked).answer
    told = ask(registered().engines["arrowroot-table"].command(), "run", asked).answer
    assert told["checksum"] == whole["checksum"]
    later = ask(
        registered().engines["arrowroot-table"].command(), "run", {**asked, "wants_checksum": False}
    ).answer
    assert later["n_entries"] == N_ENTRIES
    assert 0 < later["counters"]["later"]["wall_ns"] <= later["wall_ns"]
    assert later["counters"]["later"]["cpu_ns"] > 0


def test_bytes_that_come_with_an_opening_are_told_apart():
    opened = SimpleNamespace(layer="store", operation="open", n_attempted=1, bytes=300, total_ns=5)
    read = SimpleNamespace(layer="store", operation="read", n_attempted=2, bytes=40, total_ns=7)
    assert layers_of([opened, read], []) == {
        "store": {"n_opens": 1, "opened_bytes": 300, "n_reads": 2, "n_bytes": 40, "busy_ns": 12}
    }


def test_bytes_that_a_read_of_local_files_needs_are_told(tree):
    told = ask(
        registered().engines["arrowroot"].command(),
        "run",
        {**tree, "wants_checksum": False, "columns": ["run"]},
    ).answer
    with arrowroot.open(tree["urls"][0]) as file:
        (record,) = [key.stored_bytes for key in file.key_list() if key.path == tree["table"]]
        payload = file[tree["table"]].scan(["run"]).plan.payload_bytes
    assert told["counters"]["needed"] == {"payload_bytes": payload, "record_bytes": record}


@pytest.mark.parametrize("name", registered().engines)
def test_the_catalogue_says_what_the_runner_says(name):
    engine = registered().engines[name]
    if engine.family.name == "root" and "ROOT" not in _installed():
        pytest.skip("ROOT is not installed")
    told = ask(engine.command(), "identify").answer
    assert set(told["can"]) == engine.can
    assert told["versions"]
    assert re.fullmatch("[0-9a-f]{16}", engine.program_hash())


def test_runners_need_no_laboratory(tree):
    path = REPOSITORY / "lab" / "arrowroot_lab" / "runners" / "arrowroot_runner.py"
    program = (
        "import runpy, sys\nsys.modules['arrowroot_lab'] = None\n"
        f"sys.path.insert(0, {str(path.parent)!r})\nsys.argv = ['x', 'run']\n"
        f"runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    by_path = ask([sys.executable, "-c", program], "", tree).answer
    as_module = ask([sys.executable, "-m", "arrowroot_lab.runners.arrowroot_runner"], "run", tree).answer
    assert by_path["checksum"] == as_module["checksum"]


def test_python3_of_a_campaign_is_the_one_that_has_the_laboratory(tmp_path, monkeypatch):
    for name in ("python3", "elsewhere"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    engines = Engines(Progress(lambda *_: None), tmp_path)

    def started(*command):
        return engines.command(EngineChoice("mine", command=command))

    assert started("python3", "./mine.py") == [
        str(Path(sys.executable).parent / "python3"),
        str(tmp_path / "mine.py"),
    ]
    assert started("elsewhere") == [str(tmp_path / "elsewhere")]
    assert started("nowhere", "x") == ["nowhere", "x"]


def test_the_example_of_the_documents_is_a_runner(tmp_path):
    text = (REPOSITORY / "docs" / "lab" / "runners.md").read_text()
    program = re.search(r"<!-- mine.py -->\n```python\n(.*?)```", text, re.DOTALL)[1]
    assert len(program.splitlines()) <= 20
    path = tmp_path / "mine.py"
    path.write_text(program)
    data = tmp_path / "data"
    data.write_bytes(bytes(8000))
    assert ask([sys.executable, str(path)], "identify").answer["name"] == "mine"
    assert (
        ask([sys.executable, str(path)], "run", {"urls": [str(data)], "table": "T"}).answer["n_entries"]
        == 1000
    )
    with pytest.raises(SkippedError):
        ask([sys.executable, str(path)], "run", {"urls": [], "order": "entry"})


def _installed():
    from importlib.util import find_spec

    return {name for name in ("ROOT",) if find_spec(name) is not None}
