"""``arrowroot draw`` fills what was asked for and draws it, in the terminal and in a file."""

import json
import shlex

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar


@pytest.fixture
def file(tmp_path):
    lists = [[float(j) for j in range(k % 4)] for k in range(40)]
    for name in ("a", "b"):
        ar.write(f"{tmp_path}/{name}.root:t", {"x": np.arange(40.0), "v": ak.Array(lists)})
    return tmp_path / "a.root"


def test_a_histogram_is_drawn_of_what_is_selected(file, arrowroot_command):
    arguments = (
        "v",
        "--filter",
        "x > 19",
        "--define",
        "w=0.5",
        "--weight",
        "w",
        "--range",
        "0:4",
        "--bins",
        "4",
    )
    text = arrowroot_command("draw", f"{file}:t", *arguments).stdout
    lines = text.splitlines()
    assert lines[0] == "v  15 filled, for which x > 19"
    # Of 20 entries five have one item, five two, and five three, with half a weight each.
    assert [line.split()[2] for line in lines[1:]] == ["7.5", "5", "2.5", "0"]


def test_two_axes_have_the_range_of_all_values(file, arrowroot_command, tmp_path):
    picture = tmp_path / "map.png"
    text = arrowroot_command("draw", f"{file}:t", "x", "v", "--plot", str(picture)).stdout
    assert text.splitlines()[0] == "v (y) : x (x)  60 filled"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_both_axes_may_be_of_one_expression(file, arrowroot_command):
    text = arrowroot_command("draw", f"{file}:t", "x:x").stdout
    assert text.splitlines()[0].startswith("x (y) : x (x)  ")


def test_pictures_in_pipes_have_the_width_of_a_terminal(file, arrowroot_command, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    for words in (["x"], ["x", "v"], ["x", "--bins", "2"]):
        assert max(map(len, arrowroot_command("draw", f"{file}:t", *words).stdout.splitlines())) <= 80


def test_each_file_has_its_own(file, arrowroot_command, tmp_path):
    picture = tmp_path / "both.svg"
    text = arrowroot_command(
        "draw", f"{file.parent}/*.root", "x + 1", "--by", "file", "--plot", str(picture)
    ).stdout
    assert [line for line in text.splitlines() if "filled" in line] == [
        f"x + 1  40 filled, of {name}.root" for name in ("a", "b")
    ]
    assert picture.read_text().startswith("<?xml")


def test_each_sample_has_its_own(file, arrowroot_command, tmp_path):
    samples = {"left": [str(file)], "both/of": {"files": [f"{tmp_path}/*.root"], "metadata": {"xsec": 2}}}
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    picture = tmp_path / "samples.png"
    arguments = ["x", "--by", "sample", "--tree", "t", "--plot", str(picture)]
    text = arrowroot_command("draw", f"@{tmp_path}/samples.json", *arguments).stdout
    assert [line for line in text.splitlines() if "filled" in line] == [
        "x  40 filled, of left",
        "x  80 filled, of both/of",
    ]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("expressions", [["v:x"], ["x", "v"], ["v : x > 9 ? x : x"]])
def test_a_profile_has_means_and_their_errors(file, arrowroot_command, tmp_path, expressions):
    picture = tmp_path / "profile.svg"
    arguments = [*expressions, "--profile", "--range", "0:8", "--bins", "2", "--plot", str(picture)]
    text = arrowroot_command("draw", f"{file}:t", *arguments).stdout
    lines = text.splitlines()
    assert lines[0].startswith("mean of v in bins of x")
    assert lines[0].endswith("60 filled")
    # The items are 0, 0, 1, 0, 1, 2 in each four entries: their spread is the root of 5/9, with six of them.
    assert [line.split()[2:5] for line in lines[1:]] == [["0.666667", "±", "0.304"]] * 2
    assert "mean of v" in picture.read_text()


def test_a_profile_of_two_axes_is_a_map(file, arrowroot_command):
    text = arrowroot_command(
        "draw", f"{file}:t", "v*v:v:x", "--profile", "--bins", "3", "--weight", "2"
    ).stdout
    lines = text.splitlines()
    assert lines[0] == "mean of v*v in bins of v (y) : x (x)  120 filled"
    assert [line.split()[-3::2] for line in lines[3:]] == [["4", "0"], ["1", "0"], ["0", "0"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "v", "x"), "write one expression for x, or two"),
        (("x", "--profile"), "and one more for --profile"),
        (("v:x", "--profile", "--range", "0:1", "--range", "0:1"), "a range for each axis at most"),
        (("x:",), "write one expression for x"),
        (("x", "--by", "sample"), "the files have no samples"),
        (("x", "--range", "3:1"), "the second end is not above"),
        (("x", "--filter", "x > 99"), "there is no value to draw"),
        (("x +",), "a column, a number or a text is expected"),
    ],
)
def test_what_cannot_be_drawn_is_said(file, arrowroot_command, arguments, message):
    done = arrowroot_command("draw", f"{file}:t", *arguments, check=False)
    assert done.returncode != 0
    assert message in done.stderr


def test_each_text_has_a_bin(tmp_path, arrowroot_command):
    path = f"{tmp_path}/a.root:t"
    texts = [["mu", "", "e"][i % 3] for i in range(10)]
    ar.write(
        path,
        {
            "s": texts,
            "l": [[text] * 2 for text in texts],
            "x": list(range(10)),
            "many": [f"{i}" for i in range(10)],
        },
    )
    for name, each in (("s", 1), ("l", 2)):
        lines = arrowroot_command("draw", path, name).stdout.splitlines()
        assert [line.split()[:2] for line in lines[1:]] == [
            ["mu", str(4 * each)],
            ['""', str(3 * each)],
            ["e", str(3 * each)],
        ]
    profile = arrowroot_command("draw", path, "x:s", "--profile").stdout.splitlines()
    assert [line.split()[:2] for line in profile[1:]] == [["mu", "4.5"], ['""', "4"], ["e", "5"]]
    assert "mu" in arrowroot_command("draw", path, "s:x").stdout
    for options, message in (
        (["--bins", "3"], "leave --bins out"),
        (["--range", "0:1"], "leave --range out"),
    ):
        said = arrowroot_command("draw", path, "s", *options, check=False).stderr
        assert f"draw: s is a text, of which each has a bin: {message}" in said


def test_texts_that_are_empty_or_not_utf_8_have_bins(tmp_path, arrowroot_command):
    path = f"{tmp_path}/a.root:t"
    columns = {
        "none": pa.array(["", ""]),
        "bad": pa.array([b"a\xff", b"b"], pa.binary()),
        "zero": pa.array(["a\0", "a"]),
    }
    ar.write(path, pa.table(columns), layout="rntuple")
    for name, bins in (
        ("none", [['""', "2"]]),
        ("zero", [["a\\x00", "1"], ["a", "1"]]),
        ("bad", [["a\ufffd", "1"], ["b", "1"]]),
    ):
        lines = arrowroot_command("draw", path, name).stdout.splitlines()
        assert [line.split()[:2] for line in lines[1:]] == bins, lines


def test_too_many_texts_are_told(tmp_path, arrowroot_command):
    path = f"{tmp_path}/a.root:t"
    ar.write(path, {"s": [str(i) for i in range(500)]})
    found = arrowroot_command("draw", path, "s", check=False)
    assert 's: more than 200 different texts: choose some, --filter \'s in ("a", "b")\'' in found.stderr


@pytest.mark.parametrize("options", [[], ["--range", "0:1"]])
def test_records_and_maps_are_refused_with_the_name_of_the_file(tmp_path, arrowroot_command, options):
    columns = {
        "r": [{"x": 1}, {"x": 2}],
        "m": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    }
    ar.write(f"{tmp_path}/a.root:t", pa.table(columns), layout="rntuple")
    for name, message in (
        ("r", "is a record"),
        ("m", "has the type map"),
    ):
        found = arrowroot_command("draw", f"{tmp_path}/a.root:t", name, *options, check=False)
        assert message in found.stderr
        assert "a.root:t: " in found.stderr
        assert "bug" not in found.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x>>h(10,0,100)", "x --bins 10 --range 0:100"),
        ("x + 1 >> +(10, 0, 1e2)", "'x + 1' --bins 10 --range 0:1e2"),
        ("v:x>>h(10,-1,100,10,0,20)", "v:x --bins 10 --range=-1:100 --range 0:20"),
    ],
)
def test_bins_as_of_draw_are_told_with_the_line_to_write(file, arrowroot_command, text, line):
    done = arrowroot_command("draw", f"{file}:t", text, check=False)
    assert f"bins and ranges are options: write arrowroot draw {file}:t {line}\n" in done.stderr
    assert arrowroot_command("draw", f"{file}:t", *shlex.split(line)).returncode == 0
    assert arrowroot_command("draw", f"{file}:t", "int(x) >> (1)").returncode == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["x", "x>9"], "x --filter 'x>9'"),
        (["x", "!(x>9)", "--bins", "4"], "x --bins 4 --filter '!(x>9)'"),
        (["v:x", "x>9 && x<30", "colz"], "v:x --filter 'x>9 && x<30'"),
        (["x", "any(v>1)", "--filter", "x>9"], "x --filter 'x>9' --filter '(x>9) && (any(v>1))'"),
        (["v:x", "", "prof"], "v:x --profile"),
        (["x", "", "hist"], "x"),
        (["x", "hist same"], "x"),
        (["x", "E1P"], "x"),
        (["x", "v", "colz"], "x v"),
    ],
)
def test_cuts_and_options_as_of_draw_are_told_with_the_line_to_write(file, arrowroot_command, words, line):
    done = arrowroot_command("draw", f"{file}:t", *words, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(f": write arrowroot draw {file}:t {line}\n")
    assert arrowroot_command("draw", f"{file}:t", *shlex.split(line)).returncode == 0


def test_an_efficiency_is_the_mean_of_a_condition(file, arrowroot_command):
    text = arrowroot_command("draw", f"{file}:t", "x", "x>=20", "--profile", "--bins", "2").stdout
    assert [line.split()[2] for line in text.splitlines()[1:]] == ["0", "1"]


def test_a_column_of_the_name_of_an_option_is_an_axis(tmp_path, arrowroot_command):
    ar.write(f"{tmp_path}/a.root:t", {"x": [1.0, 2.0], "box": [1.0, 2.0]})
    place = f"{tmp_path}/a.root"
    assert arrowroot_command("draw", place, "x", "box").stdout.startswith("box (y) : x (x)  2 filled")
    words = ["x", "box", "p", "--profile", "--define", "p=x + 1"]
    assert arrowroot_command("draw", place, *words).stdout.startswith(
        "mean of p in bins of box (y) : x (x)  "
    )
    done = arrowroot_command("draw", place, "box", "x > 1", "box", "e", check=False)
    assert done.stderr.endswith(f": write arrowroot draw {place} box box --filter 'x > 1'\n")


def test_a_word_that_begins_as_many_options_is_none(file, arrowroot_command):
    done = arrowroot_command("draw", f"{file}:t", "x", "profp" * 40 + "!", check=False)
    assert "options" not in done.stderr
    assert "profp" in done.stderr


def test_bins_with_their_ends_are_told_with_the_options(file, arrowroot_command):
    for bins, line in (
        ("50,-.5,100", ": write --bins 50 --range=-.5:100"),
        ("(5, 0, 1, 5, -1, 1)", ": write --bins 5 --range 0:1 --range=-1:1"),
        (
            "5,0,1,9,0,1",
            ", and one number of bins is that of both axes: write --bins 5 --range 0:1 --range 0:1",
        ),
    ):
        done = arrowroot_command("draw", f"{file}:t", "x", "--bins", bins, check=False)
        assert f"ends are an option of their own{line} (try" in done.stderr
        options = shlex.split(line.partition("write ")[2])
        assert arrowroot_command("draw", f"{file}:t", "v:x", *options).returncode == 0


@pytest.mark.parametrize(
    ("words", "is_log"),
    [
        (["x"], True),
        (["x", "v"], True),
        (["v:x", "--profile"], True),
        (["x", "--filter", "x < 0", "--range", "0:1"], False),
    ],
)
def test_counts_are_drawn_by_their_logarithm(file, arrowroot_command, tmp_path, words, is_log):
    pictures = [tmp_path / name for name in ("linear.svg", "log.svg")]
    for picture, options in zip(pictures, ([], ["--log"]), strict=True):
        arrowroot_command("draw", f"{file}:t", *words, *options, "--plot", str(picture))
    assert ["10^{" in one.read_text() for one in pictures] == [False, is_log]
    done = arrowroot_command("draw", f"{file}:t", "x", "--log", check=False)
    assert "--log is of a picture: write --log --plot FILE.png" in done.stderr


def test_lists_of_files_are_taken_with_the_name_of_their_tree(file, tmp_path, arrowroot_command):
    files = f"@{tmp_path}/files.txt"
    (tmp_path / "files.txt").write_text(f"{file}\n{tmp_path}/b.root:t\n", encoding="utf-8")
    assert arrowroot_command("draw", f"{files}:t", "x").stdout.startswith("x  80 filled")
    for options in ([files], [f"{files}:t"]):
        done = arrowroot_command("head", *options, "-n", "1")
        assert done.stdout.count("the first 1 of 40 entries") == 2
    assert arrowroot_command("perf", f"{files}:t").stdout.count("40 of 40 entries") == 2
    arrowroot_command("skim", f"{files}:t", f"{tmp_path}/out.root")
    assert ar.open(tmp_path / "out.root")["t"].num_entries == 80
    assert ar.scan([f"{files}:t", file], "t").num_entries == 120
    assert "no such list of files" in arrowroot_command("head", f"{files}x:t", check=False).stderr
    with pytest.raises(ar.InvalidRequestError, match="which tree, 't' or 'u'"):
        ar.scan(f"{files}:t", "u")
