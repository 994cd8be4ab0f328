"""The commands that show results: what they print, in every form, and their exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.dataset
import pyarrow.parquet
import pytest

import arrowroot_lab
from arrowroot_lab.cli import main
from arrowroot_lab.store import Store
from tests.lab.made import Made
from tests.lab.running import PATIENCE_S
from tests.recorded import session

RESULTS = Made(seed=4).results()


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.db"
    with Store.open(path) as store:
        for result in RESULTS:
            store.put(result)
    return path


@pytest.fixture
def lab(database, capsys, monkeypatch):
    """Run a command; returns exit code, and what it said on stdout and stderr."""
    monkeypatch.setenv("ARROWROOT_LAB_DB", str(database))

    def run(*arguments):
        try:
            code = main(list(arguments))
        except SystemExit as ended:  # argparse's
            code = ended.code
        return code, *capsys.readouterr()

    return run


ALL = [
    ["show"],
    ["show", RESULTS[0].uuid[:8]],
    ["show", "--overview"],
    ["show", "--matrix", "engine"],
    ["show", "--matrix", "storage", "--metric", "cpu_efficiency", "--statistic", "minimum"],
    ["show", "--matrix", "storage_kind", "--cpu-model", "*EPYC*", "--reading", "load_1_minute<1.2"],
    ["show", "--reading", "round_trip_ns>=10 ms", "--reading", "network_bytes_per_s<10 GB/s"],
    ["compare"],
    ["compare", "--by", "engine", "uproot", "arrowroot"],
    ["history"],
    ["history", "--series", RESULTS[0].series_id, "--metric", "store.n_reads"],
    ["diff-env", RESULTS[0].uuid, RESULTS[-1].uuid],
]


@pytest.mark.parametrize("command", ALL, ids=lambda command: " ".join(command)[:40])
def test_commands_print_tables_of_eighty_columns(lab, command):
    code, out, err = lab(*command)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) > 4
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", ALL, ids=lambda command: " ".join(command)[:40])
def test_commands_print_json_csv_and_markdown(lab, command):
    tables = json.loads(lab(*command, "--json")[1])
    tables = tables if isinstance(tables, list) else [tables]
    assert any(table["rows"] for table in tables)
    parts = lab(*command, "--csv")[1].split("\n\n")
    assert [len(list(csv.DictReader(io.StringIO(part)))) for part in parts] == [
        len(table["rows"]) for table in tables
    ]
    for table in tables:
        assert {key for row in table["rows"] for key in row} <= {column["key"] for column in table["columns"]}
        assert f"### {table['title']}" in lab(*command, "--markdown")[1]


def test_show_lists_the_newest_of_each_series_and_version_and_all_on_demand(lab):
    n_newest = len({(result.series_id, result.version) for result in RESULTS})
    assert len(json.loads(lab("show", "--json")[1])["rows"]) == n_newest
    assert len(json.loads(lab("show", "--json", "--all")[1])["rows"]) == len(RESULTS)
    assert len(json.loads(lab("show", "--json", "--all", "--limit", "7")[1])["rows"]) == 7
    told = json.loads(
        lab("show", "--all", "--json", "--engine", "root,up*", "--storage", "local", "--since", "2026-10-11")[
            1
        ]
    )
    assert len(told["rows"]) == 2 * 3 * 3


def test_history_is_told_where_one_series_matches_and_the_series_where_several_do(lab):
    chosen = ["--engine", "root", "--storage", "local", "--workload", "all columns", "--json"]
    one = json.loads(lab("history", *chosen)[1])
    assert [row["version"] for row in one["rows"]] == ["6.38.00", "6.40.00"] * 3
    several = json.loads(lab("history", *chosen[:4], "--json")[1])
    assert len(several["rows"]) == 3


def test_show_gives_the_document_as_it_is(lab, database):
    uuid = RESULTS[3].uuid
    with Store.open(database, must_exist=True) as store:
        assert lab("show", uuid[:12], "--document")[1] == store.document(uuid)


def test_compare_fails_on_demand_if_anything_is_worse(lab):
    assert lab("compare", "--engine", "root", "--fail")[0] == 1
    assert lab("compare", "--engine", "root")[0] == 0
    assert lab("compare", "--engine", "arrowroot", "--metric", "cpu_ns", "--fail")[0] == 0
    rows = json.loads(lab("compare", "--engine", "arrowroot", "--metric", "cpu_ns", "--json")[1])["rows"]
    assert {row["verdict"] for row in rows} == {"better"}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("show --matrix colour", "argument --matrix: invalid choice: 'colour' "),
        ("show --josn", "show has no option --josn; did you mean '--json'? (try"),
        ("check --baseline 1f3a --since 2026", "check has no option --since"),
        ("cache all", "cache takes no 'all' (try: arrowroot lab cache --help)"),
        ("runs", "there is no command 'runs'; did you mean 'run'? (try: arrowroot lab --help)"),
        ("ls", "there is no command 'ls': write arrowroot lab show (try: arrowroot lab --help)"),
        (
            "plot",
            "there is no command 'plot': write arrowroot lab publish pages/ (try: arrowroot lab --help)",
        ),
        (
            "--db x.db show --json",
            "options stand behind the command: write arrowroot lab show --json --db x.db (try",
        ),
        ("run q.toml --dry-run", "run has no option --dry-run: write arrowroot lab plan q.toml, which tells"),
        ("export", "the following arguments are required: OUT: write arrowroot lab export results.csv (try"),
        ("nonsense", "there is no command 'nonsense' (try: arrowroot lab --help)"),
    ],
)
def test_words_that_are_not_known_are_answered_in_a_line(lab, command, answer):
    code, out, err = lab(*command.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"arrowroot lab: {answer}")
    assert err.count("\n") == 1


def test_campaigns_are_answered_by_their_names(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "; there are" not in lab("plan", "nonsense")[2]
    (tmp_path / "campaigns").mkdir()
    (tmp_path / "campaigns" / "mine.toml").write_text("")
    assert lab("plan", "nonsense")[2].endswith("No such file or directory; there are campaigns/mine.toml\n")
    assert lab("run", "mine")[2].endswith("No such file or directory: write campaigns/mine.toml\n")
    checkout = Path(__file__).parents[2] / "campaigns"
    assert f": write arrowroot lab plan {checkout / 'quick.toml'} (try: " in lab("plan")[2]
    assert f": write arrowroot lab watch {checkout / 'quick.toml'} --once (try: " in lab("watch")[2]
    assert f"write arrowroot lab plan {checkout / 'quick.toml'} " in lab("campaigns")[2]
    assert lab("run", "quick")[2].endswith(f": write {checkout / 'quick.toml'}\n")


def test_help_is_shown_as_it_is_asked_for(lab):
    assert lab() == lab("help") == lab("--help")
    assert lab("help", "compare") == lab("compare", "--help")
    assert lab("help", "compare")[0] == 0


def test_requests_that_cannot_be_met_say_why_and_exit_with_two(lab, database, tmp_path):
    def refused(words):
        code, out, err = lab(*words.split())
        assert (code, out) == (2, "")
        return err

    first = RESULTS[0].uuid
    names = {"refused": refused, "first": first, "arrowroot_lab": arrowroot_lab}
    session("requests-of-results", tmp_path, names, [(first, "FIRST"), (str(database), "lab.db")])
    assert not list(tmp_path.iterdir())


def test_export_writes_the_same_rows_in_every_format(lab, tmp_path):
    uproot = pytest.importorskip("uproot")
    rows = {}
    for suffix in ("csv", "parquet", "root"):
        out = tmp_path / f"samples.{suffix}"
        code, told, err = lab("export", str(out), "--table", "samples", "--storage", "local")
        assert (code, err) == (0, "")
        if suffix == "csv":
            rows[suffix] = [int(row["store.n_bytes"]) for row in csv.DictReader(io.StringIO(out.read_text()))]
        elif suffix == "parquet":
            rows[suffix] = pyarrow.parquet.read_table(out)["store.n_bytes"].to_pylist()
        else:
            rows[suffix] = uproot.open(out)["samples"]["store_n_bytes"].array().tolist()
        assert told == f"{out}: {len(rows[suffix]):,} samples\n"
    wanted = [
        sample.counters["store"]["n_bytes"]
        for result in RESULTS
        if result.case["storage_name"] == "local"
        for sample in result.samples
    ]
    assert sorted(rows["csv"]) == sorted(wanted)
    assert rows["csv"] == rows["parquet"] == rows["root"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_exported_results_have_the_columns_of_the_view(lab, tmp_path, database):
    lab("export", str(tmp_path / "results.parquet"))
    table = pyarrow.parquet.read_table(tmp_path / "results.parquet")
    with Store.open(database, must_exist=True) as store:
        assert table["uuid"].to_pylist() == [one.uuid for one in store.summaries()]
        assert table["wall_median_ns"].to_pylist() == [one.wall_median_ns for one in store.summaries()]
    lab("export", str(tmp_path / "newest.csv"), "--newest")
    assert len((tmp_path / "newest.csv").read_text().splitlines()) == 1 + len(
        {one.series_id for one in RESULTS}
    )


def test_export_to_a_directory_is_by_campaign_and_month_and_is_replaced_whole(lab, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    out = tmp_path / "results"
    for _ in range(2):
        code, told, _ = lab("export", f"{out}/")
        assert code == 0
    (out / "mine.txt").write_text("stays")
    lab("export", str(out), "--engine", "root")
    assert (out / "results" / "campaign=storages" / "month=2026-10").is_dir()
    assert sorted(path.name for path in out.iterdir()) == [
        "counters",
        "documents",
        "mine.txt",
        "results",
        "samples",
    ]
    query = f"SELECT engine, count(*) FROM '{out}/results/**/*.parquet' GROUP BY engine"  # noqa: S608 - a directory of ours
    assert duckdb.sql(query).fetchall() == [("root", sum(one.case["engine"] == "root" for one in RESULTS))]
    n_counters = sum(
        len(metrics) for one in RESULTS for sample in one.samples for metrics in sample.counters.values()
    )
    assert f"{len(RESULTS):,} results" in told
    assert f"{n_counters:,} counters" in told
    assert pyarrow.dataset.dataset(out / "samples", partitioning="hive").count_rows() > 0


@pytest.mark.parametrize("table", ["results", "documents"])
def test_export_removes_nothing_that_no_export_wrote(lab, tmp_path, table):
    mine = tmp_path / table / "campaign=thesis" / "chapter.tex"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    code, _, told = lab("export", f"{tmp_path}/")
    assert (code, mine.read_text()) == (2, "mine")
    assert f"{mine}: no export wrote this" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == [table]
    mine.unlink()
    (tmp_path / table / "link").symlink_to(tmp_path)
    assert lab("export", f"{tmp_path}/")[0] == 2
    (tmp_path / table / "link").unlink()
    assert lab("export", f"{tmp_path}/")[0] == 0


def test_export_that_cannot_be_written_leaves_nothing(lab, tmp_path):
    if os.geteuid() == 0:
        blocked = tmp_path / "file"
        blocked.write_text("")
        out = blocked / "results.csv"
    else:
        tmp_path.chmod(0o555)
        out = tmp_path / "results.csv"
    code, _, err = lab("export", str(out))
    assert code == 2
    assert str(out) in err
    assert shutil.os.listdir(tmp_path) in (["file"], [])


def test_results_are_a_data_frame(database, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.setenv("ARROWROOT_LAB_DB", str(database))
    frame = arrowroot_lab.results(engine=["root", "up*"], storage="local")
    assert isinstance(frame, pandas.DataFrame)
    chosen = [
        one for one in RESULTS if one.case["engine"] != "arrowroot" and one.case["storage_name"] == "local"
    ]
    assert sorted(frame.uuid) == sorted(one.uuid for one in chosen)
    assert str(frame.created_at.dt.tz) == "UTC"
    samples = arrowroot_lab.results(str(database), each="sample", storage="local")
    assert len(samples) == sum(len(one.samples) for one in RESULTS if one.case["storage_name"] == "local")
    assert set(samples[samples.engine == "uproot"]["store.n_reads"]) == {85}
    assert len(arrowroot_lab.results(newest=True)) == len({one.series_id for one in RESULTS})


def test_import_of_the_package_costs_no_database_and_no_arrow():
    code = "import sys, arrowroot_lab; print([n for n in ('sqlalchemy', 'pyarrow', 'pandas') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_commands_are_those_of_arrowroot(database):
    command = [
        sys.executable,
        "-m",
        "arrowroot",
        "lab",
        "show",
        "--db",
        str(database),
        "--limit",
        "1",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["rows"]) == 1


def test_reader_that_has_enough_of_the_output_is_no_error(database):
    command = f"{sys.executable} -m arrowroot lab show --all --db {database} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_with_a_comma_is_one_name(lab, tmp_path):
    path = tmp_path / "lab.db"
    first, second = Made(seed=4).results()[:2]
    first.case["storage_name"], second.case["storage_name"] = "disk, cold", "disk"
    with Store.open(path) as store:
        store.put(first)
        store.put(second)
    asked = ["show", "--all", "--db", str(path), "--csv", "--storage"]
    assert first.uuid in (cold := lab(*asked, "disk, cold")[1])
    assert second.uuid not in cold
    assert lab(*asked, "disk, warm")[0] == 2


def test_a_file_is_put_through_links_and_into_pipes_and_never_in_the_place_of_a_device(lab, tmp_path):
    path, link, pipe = tmp_path / "out.csv", tmp_path / "link.csv", tmp_path / "pipe.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    assert lab("export", str(link))[0] == 0
    assert link.is_symlink()
    assert (path.stat().st_mode & 0o777, path.read_text()[:6]) == (0o640, '"uuid"')
    os.mkfifo(pipe)
    heard = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    listener.start()
    assert lab("export", str(pipe))[0] == 0
    listener.join(PATIENCE_S)
    assert heard == [path.read_text()]
    assert pipe.is_fifo()
    # The picture for narrow screens has 255 letters.
    name = tmp_path / ("x" * 244 + ".svg")
    assert lab("classics", "--picture", str(name))[0] == 0
    assert sorted(one.suffix for one in tmp_path.iterdir()) == [".csv", ".csv", ".csv", ".svg", ".svg"]


def test_a_command_imports_what_it_needs_and_help_no_database():
    imported = (
        "import sys\nfrom arrowroot_lab.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print(*(one for one in sys.modules if one.startswith(('sqlalchemy', 'numpy', 'arrowroot_lab.cli.'))))"
    )

    def told(*words):
        command = [sys.executable, "-c", imported, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    *page, modules = told("--help")
    assert "    history   how a series went on" in page
    assert "    classics  published experiments again, in virtual time" in page
    assert modules == ""
    modules = told("history", "--help")[-1].split()
    assert {one for one in modules if ".cli." in one} == {
        "arrowroot_lab.cli.asking",
        "arrowroot_lab.cli.history",
    }


def test_a_store_that_is_named_is_opened_without_what_reads_files_of_sites(tmp_path):
    """That, and the model of campaigns, cost a tenth of the CPU time of a short command."""
    imported = (
        "import sys\nfrom arrowroot_lab.cli import main\nmain(sys.argv[1:])\n"
        "print(*(one for one in sys.modules if one.startswith('arrowroot_lab.campaign.')))"
    )
    with Store.open(tmp_path / "lab.db"):
        pass
    for command in ("show", "compare", "history"):
        words = [sys.executable, "-c", imported, command, "--db", str(tmp_path / "lab.db")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        told = done.stdout.splitlines()[-1].split()
        assert not {"arrowroot_lab.campaign.site", "arrowroot_lab.campaign.model"} & {*told}, done.stderr
