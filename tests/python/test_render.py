import pyarrow as pa
import pytest

from arrowroot._render import cell_text, clip, html_table, printable, scalar_text, text_table, width_of
from arrowroot.cli.ls import stems


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (1.0 / 3, "0.333333"),
        (float("nan"), "nan"),
        (7, "7"),
        (True, "True"),
        ([1, 2], "[1, 2]"),
        (list(range(100)), "[0, 1, 2, 3, … 96 more]"),
        ([[1.5], []], "[[1.5], []]"),
        ("x" * 50, "x" * 31 + "…"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        (b"\x00a", "b'\\x00a'"),
        ({"x": 1}, "{x: 1}"),
    ],
)
def test_a_cell_is_one_short_line(value, text):
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, [], [1, 2], [1] * 9], pa.list_(pa.int8())),
        ([[[1.5, None]], []], pa.large_list(pa.list_(pa.float32()))),
        ([[1, 2]], pa.list_(pa.int8(), 2)),
        (["", "abc", "é" * 40, "名" * 40, "🐬" * 33, "🐬" * 32, "a\x1b"], pa.string()),
        ([b"\0\xff", b"x" * 100], pa.large_binary()),
        ([{"a": 1, "b": [None, "x" * 50]}], pa.struct({"a": pa.int8(), "b": pa.list_(pa.string())})),
        ([True, None], pa.bool_()),
    ],
)
def test_an_arrow_value_is_shown_as_the_python_value_is(values, kind):
    array = pa.array(values, type=kind)
    assert [scalar_text(scalar) for scalar in array] == [cell_text(value) for value in array.to_pylist()]


def test_a_map_is_shown_as_pairs():
    kind = pa.map_(pa.string(), pa.list_(pa.int8()))
    array = pa.array([[("a", [1]), ("b", None)], [(str(i), []) for i in range(6)]], type=kind)
    assert scalar_text(array[0]) == "{a: [1], b: null}"
    assert scalar_text(array[1]) == "{0: [], 1: [], 2: [], 3: [], … 2 more}"
    long = pa.array([[("k" * 20, "v" * 20)]], type=pa.map_(pa.string(), pa.string()))
    assert scalar_text(long[0], 5) == "{kkkk…: vvvv…}"


def test_columns_are_aligned_by_what_a_terminal_shows():
    text = text_table([["名前", "n"], ["a", "10"]])
    assert text.split("\n") == ["名前   n", "────  ──", "a     10"]
    assert width_of("名前") == 4


def test_columns_that_do_not_fit_are_left_out():
    assert text_table([["aaaa", "bbbb", "cccc"]], n_header=0, max_width=11) == "aaaa  bbbb"
    assert text_table([["a" * 30]], n_header=0, max_width=10) == "a" * 9 + "…"
    assert text_table([]) == ""


def test_a_clipped_text_never_exceeds_its_width():
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "ab…"
    assert width_of(clip("名前名前", 6)) <= 6


def test_html_is_escaped():
    text = html_table([["<b>"], ["&"]], caption="<i>")
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert "&lt;i&gt;" in text


def test_a_surrogate_in_a_name_does_not_break_the_output():
    assert printable("a\udc80b").encode() == b"a\\udc80b"


def test_a_tree_of_keys_has_rails_and_corners():
    assert stems([0, 1, 2, 1, 0, 1]) == ["├─ ", "│  ├─ ", "│  │  └─ ", "│  └─ ", "└─ ", "   └─ "]
