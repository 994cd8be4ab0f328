import datetime as dt
import decimal
import io
import json
import os
import re
import shlex
import subprocess
import sys
import types

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot
from arrowroot import InvalidRequestError
from arrowroot._objects.record import json_text
from arrowroot._pictures import reading
from arrowroot._report.measure import drop_from_page_cache, page_cache_share
from arrowroot._terminal import readable
from arrowroot.cli import ls, main
from tests.command import done_here, run_here
from tests.recorded import session

from .conftest import N_ENTRIES, write_tree

#: What compresses to another size with another version, and the space for it.
VARYING = [(r"\d+\.\d+( [kM]?B)?|\d+ B", "N"), (r" {2,}", "  "), (r"─+", "─")]


def test_commands_show_what_there_is_and_say_what_is_wrong(sample, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "text.root").write_text("no ROOT file\n" * 30)
    write_tree(tmp_path / "two.root", 3, names=("A", "B"))
    (tmp_path / "full.png").symlink_to("/dev/full")
    for name in ("sample.root", "other.root"):
        (tmp_path / name).symlink_to(sample[0])
    session("listings", tmp_path, varying=VARYING)

    def said(words):
        done = run_here(*words.split())
        return f"{done.stderr}[{done.returncode}]"

    def measures(words):
        lines = done_here(*shlex.split(words)).splitlines()
        named = [line.partition("=")[0].strip() for line in lines if " = " in line]
        rest = [line for line in lines if "page cache before" in line or "reads" in line.split()]
        return "\n".join([", ".join(named), *(re.sub(r"\d+ %", "N %", line) for line in rest)])

    session("commands", tmp_path, {"said": said, "measures": measures})


def test_a_closed_stream_is_no_crash(sample):
    def run(path, closed):
        command = f'exec "$0" -m arrowroot ls "$1" {closed}'
        return subprocess.run(
            ["/bin/sh", "-c", command, sys.executable, str(path)], capture_output=True, text=True, check=False
        )

    done = run(sample[0], ">&-")
    assert (done.returncode, done.stderr) == (1, "arrowroot: the standard output is closed\n")
    done = run(sample[0], "2>&-")
    assert (done.returncode, "Events" in done.stdout) == (0, True)
    # What is wrong does not go where results go.
    missing = run("missing.root", "")
    done = run("missing.root", "2>&-")
    assert (done.returncode, done.stdout) == (missing.returncode, "")


def test_ls_json_is_the_same_as_data(sample, arrowroot_command):
    document = json.loads(arrowroot_command("ls", sample[0], "--json").stdout)
    assert document["form"] == "arrowroot.ls/1"
    (tree,) = document["trees"]
    assert tree["num_entries"] == N_ENTRIES
    assert [branch["path"] for branch in tree["branches"]] == ["run", "weight", "good", "npt", "pt"]
    assert {key["class_name"] for key in document["keys"]} >= {"TTree", "TObjString"}
    lines = arrowroot_command("ls", sample[0], sample[0], "--json").stdout.splitlines()
    assert list(map(json.loads, lines)) == [document] * 2


def test_ls_needs_neither_pyarrow_nor_numpy(sample):
    code = (
        "import sys, arrowroot.cli as c; c.main(['ls', sys.argv[1]]);"
        "print({'pyarrow', 'numpy', 'matplotlib'} & set(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(sample[0])]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr.strip() == "set()"


def test_head_prints_all_types_as_json(tmp_path, arrowroot_command, monkeypatch):
    # A file of others may have times in any zone.
    monkeypatch.setattr("arrowroot._writing.schema.check_zones", lambda field, where: None)  # noqa: ARG005
    day, ages = dt.date(2020, 1, 2), pa.map_(pa.string(), pa.float64())
    columns = {
        "at": (pa.array([1700000000123456789, None], pa.timestamp("ns", "No/Where")), "2023-11-14T22:13:20.123456789Z"),
        "day": (pa.array([day, day]), "2020-01-02"),
        "clock": (pa.array([1, 2], pa.time64("ns")), "00:00:00.000000001"),
        "took": (pa.array([5, 6], pa.duration("ns")), 5),
        "price": (pa.array([decimal.Decimal("1.50"), None]), "1.50"),
        "days": (pa.array([[day, None], []]), ["2020-01-02", None]),
        "name": (pa.array([b"\xff", b"a"]), "/w=="),
        "ages": (pa.array([[("x", np.nan), ("y", 1.5)], []], ages), [["x", None], ["y", 1.5]]),
        "kind": (pa.array(["a", "b"]).dictionary_encode(), "a"),
        "point": (pa.array([{"x": float("nan"), "day": day}] * 2), {"x": None, "day": "2020-01-02"}),
    }  # fmt: skip
    path = tmp_path / "types.root"
    arrowroot.write(f"{path}:t", pa.table({name: array for name, (array, _) in columns.items()}))
    first, second = map(json.loads, arrowroot_command("head", path, "--json").stdout.splitlines())
    assert first == {name: text for name, (_, text) in columns.items()}
    assert (second["at"], second["price"], second["days"]) == (None, None, [])


def test_what_is_no_record_is_json_too():
    values = {b"\xff": np.array([1.0, np.nan]), "texts": [b"\xff", "a"], "n": 3}
    assert json.loads(json_text(values)) == {"\ufffd": [1.0, None], "texts": ["\ufffd", "a"], "n": 3}
    assert json_text(np.array([np.inf, 1])) == "[null, 1.0]"


def test_perf_json_counts_what_was_asked_for(sample, arrowroot_command):
    def perf(*options):
        return json.loads(arrowroot_command("perf", sample[0], "--json", *options).stdout)

    document = perf("-c", "w*,run", "--entries", "100:600", "--threads", 1, "--repeat", 3, "--cold")
    assert document["form"] == "arrowroot.perf/3"
    assert document["columns"] == ["weight", "run"]
    assert document["n_entries"] == document["first"]["n_entries"] == 500
    assert len(document["reads"]) == 3
    assert document["later"]["real_time_ns"]["min"] <= document["later"]["real_time_ns"]["max"]
    tenth = perf("--fraction", "0.1", "--seed", "3", "-c", "run")
    assert tenth["n_entries"] == N_ENTRIES // 10
    assert tenth["options"]["seed"] == 3


def test_perf_draws_and_traces(sample, tmp_path, arrowroot_command):
    for form, magic in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        picture = tmp_path / f"p.{form}"
        arrowroot_command("perf", sample[0], "--plot", picture, "--trace", tmp_path / "t.csv")
        assert picture.read_bytes().startswith(magic)
    rows = (tmp_path / "t.csv").read_text().splitlines()
    assert rows[0] == "offset,n_bytes,first_entry,end_entry,start_ns,end_ns"
    assert len(rows) > 1


def test_perf_explains_every_measure(arrowroot_command):
    assert "Readextra  (read_extra_percent" in arrowroot_command("perf", "--explain").stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--trace", "f.root"], "the file to read"),
        (["--fjr", "link"], "the file to read"),
        (["--trace", "x.out", "--fjr", "./x.out"], "it is --trace"),
        (["--trace", "p.png", "--plot", "p.png"], "it is --trace"),
        (["--fjr", "."], "a directory"),
        (["--trace", "d.parquet"], "a directory"),
        (["--plot", "d.png"], "a directory"),
    ],
)
@pytest.mark.parametrize(
    "url", ["f.root", "f.root:Events", "f.root?arrowroot.retries=1", "file://{folder}/f.root"]
)
def test_perf_writes_over_nothing_that_it_reads_or_writes(  # noqa: PLR0917 - pytest calls it
    sample, tmp_path, monkeypatch, capsys, url, options, text
):
    content = sample[0].read_bytes()
    (tmp_path / "f.root").write_bytes(content)
    (tmp_path / "link").symlink_to("f.root")
    for name in ("d.parquet", "d.png"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(["perf", url.format(folder=tmp_path), "-c", "run", *options]) == 2
    done = capsys.readouterr()
    assert (done.out, text in done.err) == ("", True), done.err
    assert (tmp_path / "f.root").read_bytes() == content
    assert sorted(tmp_path.iterdir()) == before


def test_debug_shows_where(sample, arrowroot_command):
    assert "Traceback" in arrowroot_command("head", f"{sample[0]}:x", "--debug", check=False).stderr


def test_an_interrupt_ends_with_130(sample, monkeypatch, capsys):
    def interrupt(_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("arrowroot.cli.ls.run", interrupt)
    assert main(["ls", str(sample[0])]) == 130
    assert capsys.readouterr().err == "arrowroot: interrupted\n"


def test_a_reader_that_stops_reading_is_no_error(sample):
    # More than a pipe holds, so that some is still to be written when nobody reads.
    command = f"{sys.executable} -m arrowroot head {sample[0]}:Events -n 1000 --json"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -c 10; echo ${{PIPESTATUS[0]}} >&2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(subprocess.run(command.split(), capture_output=True, check=True).stdout) > 1 << 16
    assert (len(done.stdout), done.stderr) == (10, "0\n")


def test_measures_are_explained_as_data_too(arrowroot_command):
    explained = json.loads(arrowroot_command("perf", "--explain", "--json").stdout)
    assert {"ReadCalls", "CPU Time"} <= {one["alias"] for one in explained}
    assert all(one["description"] for one in explained)


def test_the_page_cache_share_of_our_file_is_known(sample):
    sample[0].read_bytes()
    share = page_cache_share(str(sample[0]))
    assert share is None or 0 <= share <= 1
    drop_from_page_cache(str(sample[0]))
    assert page_cache_share("/nothing") is None


def test_a_plot_form_that_is_not_known_is_refused():
    from arrowroot._pictures.style import check

    with pytest.raises(InvalidRequestError, match="svg"):
        check("x.bmp")


def test_the_picture_says_when_entries_that_a_filter_selected_were_delivered(sample, tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(reading, "draw", lambda *_, delivered, **__: drawn.update(delivered=delivered))
    options = ["--filter", "run % 50 == 10", "--entries", "100:900", "--batch-size", "20 B"]
    arguments = ["perf", str(sample[0]), "-c", "weight,pt", *options, "--plot", str(tmp_path / "p.png")]
    assert main(arguments) == 0
    ends = [end for end, _ in drawn["delivered"]]
    assert len(ends) > 1
    assert (ends, ends[-1]) == (sorted(ends), 861)
    assert all((end - 1) % 50 == 10 for end in ends)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_without_letters_for_it_gets_others(tmp_path, arrowroot_process, encoding):
    path = tmp_path / "größe.root"
    with uproot.recreate(path) as file:
        file["Höhe 😀"] = np.histogram([1.0, 2.0, 2.0], bins=3)
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    options = {"env": environment, "encoding": encoding}
    listed = arrowroot_process("ls", path, **options).stdout
    name = ascii("Höhe 😀")[1:-1] if encoding == "ascii" else "Höhe \\U0001f600"
    assert f"`- {name};1" in listed
    drawn = arrowroot_process("show", f"{path}:Höhe 😀", **options).stdout
    assert "###" in drawn
    environment["PYTHONIOENCODING"] += ":replace"
    assert "?" in arrowroot_process("ls", path, **options).stdout
    keys = json.loads(arrowroot_process("ls", path, "--json", **options).stdout)["keys"]
    assert keys[0]["name"] == "Höhe 😀"


def test_a_map_of_few_bins_is_a_table_and_one_of_many_is_drawn(tmp_path, arrowroot_command):
    x, y = np.array([0.5, 0.5, 1.5, 2.5]), np.array([10.0, 10.0, 20.0, 20.0])
    with uproot.recreate(tmp_path / "h.root") as file:
        file["few"] = np.histogram2d(x, y, bins=[[0, 1, 2, 3], [5, 15, 25]])
        file["many"] = np.histogram2d(x, y, bins=[40, 30])

    def shown(name, width):
        environment = {**os.environ, "COLUMNS": str(width)}
        return arrowroot_command("show", tmp_path / f"h.root:{name}", env=environment).stdout.splitlines()

    table = [
        "y \\ x      [0, 1)    [1, 2)    [2, 3)",
        "[15, 25)   0 ± 0     1 ± 1     1 ± 1",
        "[5, 15)  2 ± 1.4     0 ± 0     0 ± 0",
    ]
    assert [" ".join(line.split()) for line in shown("few", 100)[1:5] if "─" not in line] == [
        " ".join(line.split()) for line in table
    ]
    # Where there is less room, the other way round; with less still it is drawn, too.
    assert shown("few", 30)[1].split("  ")[0] == "x \\ y"
    assert any("█ is" in line for line in shown("few", 20))
    assert any("█ is" in line for line in shown("many", 100))


def test_dots_and_lines_of_drawings_have_letters_of_one_column():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    with readable(stream):
        stream.write("⠿⠀█─┤é\n")
    with pytest.raises(UnicodeEncodeError):
        stream.write("█")
    stream.flush()
    assert stream.buffer.getvalue() == b"* #-+\\xe9\n"


MEASURED = """
import sys
import arrowroot.cli.perf as perf
measure = perf.measure
def checked(*arguments, **options):
    missing = {"pyarrow.compute", "arrowroot._passes.filtered", "arrowroot._expressions.evaluation"} - set(sys.modules)
    assert not missing, missing
    return measure(*arguments, **options)
perf.measure = checked
from arrowroot.cli import ls, main
sys.exit(main(sys.argv[1:]))
"""


def test_what_filters_compute_with_is_imported_before_the_clock_runs(sample):
    command = [sys.executable, "-c", MEASURED, "perf", sample[0], "--filter", "run > 3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_while_the_page_cache_is_asked_is_one(sample, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: types.SimpleNamespace(mincore=interrupted))
    with pytest.raises(KeyboardInterrupt):
        page_cache_share(str(sample[0]))


def test_the_tree_cache_that_perf_tells_of_is_the_one_that_it_had(sample, arrowroot_command):
    def told(*options):
        report = json.loads(arrowroot_command("perf", sample[0], "--json", *options).stdout)
        return report["first"]["tree_cache_bytes"]

    assert told("--memory-budget", "64 MB") is None
    assert told("--strategy", "treecache", "--cache-size", "0") is None
    shown = arrowroot_command("perf", sample[0], "--strategy", "treecache").stdout
    assert ["TreeCache", "30.0 MB"] in [
        [part.strip() for part in line.split("=")] for line in shown.splitlines()
    ]
    assert told("--strategy", "treecache") == 30_000_000
    assert told("--strategy", "treecache", "--cache-size", "3 MB") == 3_000_000


def test_perf_and_ls_have_one_compression(sample, arrowroot_command, tmp_path):
    """Of many small baskets, too, whose keys are most of what is stored."""
    small = tmp_path / "small.root"
    with uproot.recreate(small) as file:
        tree = file.mktree("t", {"x": "i4"})
        for start in range(0, 60, 3):
            tree.extend({"x": list(range(start, start + 3))})
    for path in (small, sample[0]):
        report = json.loads(arrowroot_command("perf", path, "--json").stdout)
        (listed,) = json.loads(arrowroot_command("ls", path, "--json").stdout)["trees"]
        expected = listed["memory_bytes"] / listed["stored_bytes"]
        assert report["first"]["compression_ratio"] == pytest.approx(expected, rel=0.01)
        stats = arrowroot.open(path)[listed["path"]].scan()
        list(stats)
        assert f"ratio {expected:.2f}" in str(stats.stats)


@pytest.mark.parametrize("name", ["a;b", "v;1", "x;", "plain"])
def test_trees_are_found_by_names_with_a_semicolon(name):
    keys = [
        types.SimpleNamespace(path=path, cycle=cycle)
        for path in ("a;b", "v;1", "x;", "plain")
        for cycle in (2, 1)
    ]
    assert [key.path for key in ls._below(keys, name)] == [name, name]
    assert [key.cycle for key in ls._below(keys, f"{name};1")] == [1]
