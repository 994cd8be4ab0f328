import pyarrow as pa
import pytest

from arrowroot import _progress, _render
from arrowroot._render import cell_text, scalar_text
from arrowroot.cli.ls import stems
from tests.recorded import session


def test_texts_are_as_a_terminal_shows_them(tmp_path):
    session("render", tmp_path, {**vars(_render), **vars(_progress), "pa": pa, "stems": stems})


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
