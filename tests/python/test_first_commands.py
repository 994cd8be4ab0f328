"""First commands of people who know other tools: what was meant is done, or answered in one line."""

import contextlib
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowroot as ar
from arrowroot import cli
from arrowroot._render import clip_apart
from arrowroot._report import busy, tune
from arrowroot.cli import answers, option_answers
from arrowroot.cli import tune as cli_tune
from tests.recorded import commands, session

REPOSITORY = Path(__file__).parents[2]
#: The same table in formats of text.
_TEXTS = {
    "csv": "x,y\n1,a\n",
    "tsv": "x\ty\n1\ta\n",
    "json": '[{"x": 1, "y": "a"}]',
    "jsonl": '{"x": 1, "y": "a"}',
}
NAMES = ["Muon_pt", "Muon_eta", "nMuon", "Jet_pt", "Jet_eta", "nJet", "run"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("first") / "run7.root"
    with ar.create(path) as made:
        made["Events"] = {name: np.arange(20.0) for name in NAMES}
        made["dir/other"] = {"x": np.arange(3)}
        made["h"] = (np.ones(3), np.arange(4.0))
    with ar.create(path.parent / "only.root") as made:
        made["h"] = (np.ones(3), np.arange(4.0))
    (path.parent / "table.parquet").write_bytes(b"PAR1" * 9)
    return path


def typed(words: str, file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Return exit code, output and messages of a command line in which FILE stands for the file."""
    try:
        code = cli.main(
            [
                word.replace("FILE", str(file)).replace("ONLY", str(file.with_name("only.root")))
                for word in words.split()
            ]
        )
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_what_is_not_known_is_answered(file: Path) -> None:
    session("first-commands", file.parent)


@pytest.fixture
def place(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory, the current one, with the files that lines are about."""
    monkeypatch.chdir(tmp_path)
    for name in ("run7.root", "more.root"):
        shutil.copyfile(file, tmp_path / name)  # lines may write to it
    (tmp_path / "only.root").symlink_to(file.with_name("only.root"))
    for name in ("one.root", "two.root"):
        ar.write(f"{name}:Events", {name: np.arange(20.0) for name in NAMES})
    (tmp_path / "keep_and_drop.txt").write_text("drop *\nkeep Muon_* Jet_*  # all\ndrop Jet_eta\n")
    for suffix, text in _TEXTS.items():
        (tmp_path / f"data.{suffix}").write_text(text)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "table.parquet")
    return tmp_path


def test_commands_are_answered_by_lines(place: Path) -> None:
    session("lines-of-commands", place)


@pytest.mark.parametrize("words", commands("lines-of-commands"))
@pytest.mark.usefixtures("place")
def test_the_line_that_is_answered_runs(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(shlex.split(words))
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr().err
    assert code in (1, 2)
    # What is said behind a line is the command's help, another line or a remark.
    ends = r"(?=, which|, or in Python|, then| \((?:try: )?arrowroot|\n)"
    lines = re.findall(rf"(?:(in Python) |write |then )((?<=Python ).+?|arrowroot .+?|-.+?){ends}", said)
    assert lines
    names = {"ar": ar, "np": np}
    for language, line in lines:
        if "plt." in line:
            names["plt"] = pytest.importorskip("matplotlib.pyplot")
        if "ak." in line:
            names["ak"] = pytest.importorskip("awkward")
        if language:
            exec(line, names)  # noqa: S102 - of ours
        elif line.startswith("-"):  # options, for those that were not understood
            wrong = re.search("argument (-[^:/]*)", said)
            assert wrong
            typed_words = shlex.split(words)
            at = typed_words.index(wrong[1])
            assert cli.main([*typed_words[:at], *shlex.split(line), *typed_words[at + 2 :]]) in (0, 2)
        else:
            assert cli.main(shlex.split(line)[1:]) == 0


@pytest.mark.parametrize(
    ("words", "as_typed"),
    [
        ("FILE", "ls FILE"),
        ("FILE:Events", "ls FILE:Events"),
        ("ls FILE Events", "ls FILE:Events"),
        ("ls FILE dir/other", "ls FILE:dir/other"),
        ("head FILE Events", "head FILE:Events"),
        ("head FILE:h", "show FILE:h"),
        ("head -3 FILE:Events", "head FILE:Events -n 3"),
        ("-h head", "head --help"),
        ("--help skim", "skim --help"),
        ("tail -3 FILE:Events", "tail FILE:Events -n 3"),
        ("head FILE:Events/run", "head FILE:Events -c run"),
        ("ls FILE:Events/run", "ls FILE:Events -c run"),
        ("show FILE h", "show FILE:h"),
        ("help head", "head --help"),
        ("help", ""),
        ("help help", ""),
        ("head help", "head --help"),
        ("lab help", "lab --help"),
        ("help lab run", "lab run --help"),
        ("layout FILE Events", "layout FILE:Events"),
        ("show FILE:Events", "ls FILE:Events"),
        ("show FILE:dir", "ls FILE:dir"),
        ("show ONLY", "show ONLY:h"),
        ("-V", "--version"),
        ("show FILE h dir/other", "show FILE:h FILE:dir/other"),
        ("draw FILE Events run", "draw FILE:Events run"),
        ("head FILE:Events -n 1 FILE:dir/other", "head FILE:Events FILE:dir/other -n 1"),
    ],
)
def test_what_was_meant_is_done(
    words: str, as_typed: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if " lab " in f" {words} ":
        pytest.importorskip("arrowroot_lab")
    done = typed(words, file, capsys)
    assert done == typed(as_typed, file, capsys)
    assert done[0] == 0
    assert done[1]


def test_the_version_names_the_commit(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert typed("-V", file, capsys)[1] == f"arrowroot {ar.__version__} ({head.stdout[:12]})\n"


def test_all_commands_are_listed_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = typed("", file, capsys)
    listed = [
        line.split()[0] for line in out.partition("COMMAND\n")[2].splitlines() if line.startswith("    ")
    ]
    assert {"ls", "head", "tail", "perf", "tune", "lab"} <= set(listed)
    assert len(listed) == len(set(listed))
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("command", ["ls", "perf", "tune --budget-seconds 0", "layout"])
def test_documents_of_several_files_are_one_a_line(
    command: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = typed(f"{command} FILE:Events FILE:dir/other --json", file, capsys)
    assert len({json.loads(line)["form"] for line in out.splitlines()}) == 1
    assert out.count("\n") == 2


@pytest.mark.parametrize(
    "words", ["ls", "head", "head -c wide", "show :Events/wide", "perf --repeat 3", "layout", "ls --group"]
)
def test_what_is_shown_fits_80_columns(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    point = {f"a_long_name_of_a_member_{i}": float(i) for i in range(5)}
    ar.write("quite_a_long_name_of_a_file.root:Events", {"wide": [[point] * 4] * 5000, "n": range(5000)})
    command, *rest = words.split()
    target = "quite_a_long_name_of_a_file.root" + "".join(one for one in rest if one.startswith(":"))
    code, out, _ = typed(
        " ".join([command, target, *(one for one in rest if not one.startswith(":"))]), tmp_path, capsys
    )
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


def test_first_and_last_entries_of_several_files(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed("tail FILE:Events FILE:dir/other -n 2 --json", file, capsys)
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()] == [
        '{"Muon_pt":18.0',
        '{"Muon_pt":19.0',
        '{"x":1}',
        '{"x":2}',
    ]
    _, out, _ = typed("tail FILE:Events -n 1 --filter run<5 --json -c run", file, capsys)
    assert out == '{"run":4.0}\n'
    code, out, err = typed("head FILE:Events nowhere.root FILE:dir/other -n 1", file, capsys)
    assert (code, "nowhere.root" in err, out.count("the first 1 of")) == (1, True, 2)


def test_first_and_last_entries_of_a_range(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def runs(words: str) -> list[float]:
        code, out, _ = typed(f"{words} -c run --json", file, capsys)
        assert code == 0
        return [json.loads(line)["run"] for line in out.splitlines()]

    assert runs("head FILE:Events --entries 5: -n 2") == [5, 6]
    assert runs("tail FILE:Events --entries 5:9 -n 2") == [7, 8]
    assert runs("head FILE:Events --entries=-3: -n 9") == [17, 18, 19]
    assert runs("head FILE:Events --entries 9:5") == []
    assert runs("head FILE:Events --entries 5:9 --filter run>6") == [7, 8]
    _, out, _ = typed("head FILE:Events --entries 5: -n 2", file, capsys)
    assert out.splitlines()[0].endswith(":Events  the first 2 of the entries 5:20")


def test_a_name_behind_a_column_may_be_a_file(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few").symlink_to(file)
    assert typed("head -c run few Events -n 1", file, capsys)[0] == 0
    assert typed("skim FILE:Events -c run out", file, capsys)[0] == 0
    assert ar.open("out")["Events"].column_names == ["run"]


def test_a_directory_is_answered_by_a_pattern(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = typed(f"ls {file.parent}", file, capsys)
    assert (code, f"write '{file.parent}/*.root'" in err) == (1, True)


def test_the_standard_input_is_read_if_it_is_a_file(file: Path) -> None:
    command = [sys.executable, "-m", "arrowroot", "head", "-", "Events", "-n", "1", "-c", "run", "--json"]
    with file.open("rb") as opened:
        done = subprocess.run(command, stdin=opened, capture_output=True, text=True, check=True)
    assert done.stdout == '{"run":0.0}\n'
    piped = subprocess.run(command, input="root", capture_output=True, text=True, check=False)
    assert (piped.returncode, len(piped.stderr.splitlines())) == (1, 1)
    assert (
        "it is a pipe, and files are read here and there: save it first (curl -O URL; cat > copy.root or copy.parquet)"
        in piped.stderr
    )


def test_a_column_is_shown_by_its_path(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed("show FILE:Events/Muon_pt", file, capsys)
    assert (code, "zlib" in out, "the first 10 of 20 entries" in out) == (0, True, True)


def test_types_of_an_ntuple_are_seen_at_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ar.write(f"{tmp_path}/n.root:Events", {"Muon_ids": [[1, 2]] * 2000, "n": range(2000)}, layout="rntuple")
    assert " vector<int64_t> " in typed(f"ls {tmp_path}/n.root", tmp_path, capsys)[1]


def test_sizes_of_collections(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = typed("ls FILE:Events --group", file, capsys)
    rows = {line.split("  ")[0]: line.split()[-5 if "%" in line else 0] for line in out.splitlines()[3:]}
    assert set(rows) == {"Muon", "Jet", "(single columns)"}
    assert sorted(line.split()[1] for line in out.splitlines()[3:] if "single" not in line) == ["3", "3"]


def test_long_names_are_cut_where_they_agree() -> None:
    names = [
        f"Electron_mvaFall17V{v}{kind}_WP{p}"
        for v in (1, 2)
        for kind in ("Iso", "noIso")
        for p in (80, 90, "L")
    ]
    short = clip_apart(names, 20)
    assert len(set(short)) == len(names)
    assert all(len(one) <= 20 and one.startswith("Electr") for one in short)
    assert clip_apart(["a", "x" * 30, "x" * 30], 10)[0] == "a"


def test_costs_of_several_files_and_patterns(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = str(file.parent / "run*.root") + ":Events"
    with ar.create(file.parent / "run8.root") as made:
        made["Events"] = {name: np.arange(5.0) for name in NAMES}
    code, out, _ = typed(f"perf {pattern} FILE:dir/other", file, capsys)
    assert (code, out.count("Storage, by layer")) == (0, 3)
    assert "all 3 files  28 entries" in out
    code, out, _ = typed(f"head {pattern} -n 1 --json -c run", file, capsys)
    assert out.splitlines() == ['{"run":0.0}', '{"run":0.0}']
    code, out, _ = typed(f"tune {pattern} --budget-seconds 0 --json", file, capsys)
    assert code == 0


def test_costs_say_what_their_times_are(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(busy.Watch, "busy", lambda _: busy.Busy(1.5, 0.0, 2.0, 4))
    monkeypatch.setattr("arrowroot._report.measure.page_cache_share", lambda _: 0.25)
    out = typed("perf FILE:Events", file, capsys)[1]
    assert re.search(r"Time of all threads  wall times of (1 thread|\d threads, added up)\n", out)
    (disk,) = [line for line in out.splitlines() if line.startswith("Disk Time")]
    assert disk.endswith("s  (of all threads, added up)")
    said = " ".join(out.split())
    assert (
        "partly read from memory, not from the disk: 25 % of the file was in the page cache; --cold" in said
    )
    assert "the machine was busy: other processes kept 1.5 of 4 processors busy meanwhile" in said
    monkeypatch.setattr(busy.Watch, "busy", lambda _: busy.Busy(0.0, 0.0, 0.0, 4))
    monkeypatch.setattr("arrowroot._report.measure.page_cache_share", lambda _: 0.0)
    out = typed("perf FILE:Events", file, capsys)[1]
    assert not any(word in out for word in ("from memory", "was busy"))


def test_tune_says_in_one_line_what_is_too_fast(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "_SHORTEST_ERROR_NS", 1e12)
    code, out, err = typed("tune FILE:Events", file, capsys)
    assert (code, err) == (0, "")
    (line,) = out.splitlines()[1:]
    assert re.fullmatch(r"nothing to set: reads take [0-9.]+ [nµm]?s, too fast to tell what is faster", line)
    monkeypatch.setattr(cli_tune, "_is_read", lambda _: False)
    code, out, err = typed("tune FILE:Events", file, capsys)
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        "nothing to set: all of this comes when the file is opened, however it is read"
    ]
    assert '"export": null' in typed("tune FILE:Events --json", file, capsys)[1]


#: Parts of command lines: files, and what may stand beside them.
_WORDS = [
    "run7.root",
    "run7.root:h",
    "run7.root:Events",
    "*7.root",
    "nowhere.root",
    "@nothing",
    "out.parquet",
]
_WORDS += [
    "nMuon",
    "nMuon>2",
    "Mu*",
    "5",
    "-5",
    "+5",
    "0:5",
    "a b",
    "x=1",
    "(",
    "1,2",
    "!x",
    "ä",
    "",
    "-",
    "--",
    "->",
]


@pytest.mark.usefixtures("place")
def test_no_words_and_options_end_in_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1)
    of_others = [
        name for table in (option_answers._OPTIONS, *option_answers._OPTIONS_OF.values()) for name in table
    ]
    options = [
        *" ".join(of_others).split(),
        "-c",
        "--filter",
        "--entries",
        "--json",
        "--range",
        "--bins",
        "-f",
    ]
    tables = (answers._COMMANDS, answers._IN_PYTHON, answers._OF_OBJECT)
    commands = [
        *" ".join(names for table in tables for names in table).split(),
        "hadd",
        "head",
        "ls",
        "show",
        "draw",
    ]
    for _ in range(600):
        words = [chance.choice(commands)]
        words += [chance.choice(chance.choice((options, _WORDS))) for _ in range(chance.randrange(6))]
        with contextlib.suppress(SystemExit):
            cli.main(words)
        said = capsys.readouterr().err
        assert "this is a bug" not in said, words
