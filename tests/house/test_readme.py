"""The README's Python runs as it stands, on files with the names it uses."""

import re
import warnings
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def python_blocks():
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def files_of_the_readme(tmp_path, monkeypatch):
    np = pytest.importorskip("numpy")
    ak = pytest.importorskip("awkward")
    uproot = pytest.importorskip("uproot")
    (tmp_path / "data").mkdir()
    random = np.random.default_rng(7)
    for name in ("file.root", "data/a.root", "data/b.root"):
        counts = random.poisson(1.5, 2000)
        pt = ak.unflatten(random.exponential(20.0, counts.sum()).astype(np.float32), counts)
        muons = ak.zip({"pt": pt})
        with uproot.recreate(tmp_path / name) as file:
            tree = file.mktree("Events", {"Muon": muons.type.content, "run": "int32"})
            tree.extend({"Muon": muons, "run": np.ones(2000, np.int32)})
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("files_of_the_readme")
def test_python_snippets_run_and_read_the_right_columns(capsys):
    names = {}
    blocks = python_blocks()
    assert len(blocks) >= 3
    for block in blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, str(README), "exec"), names)  # noqa: S102 - the README is ours
    assert names["frame"].shape == (4000, 2)
    assert names["table"].num_rows == 2000
    assert "Muon_pt" in capsys.readouterr().out


def test_bench_markers_are_there_once_and_in_order():
    text = README.read_text(encoding="utf-8")
    assert text.count("<!-- bench:begin -->") == text.count("<!-- bench:end -->") == 1
    assert text.index("<!-- bench:begin -->") < text.index("<!-- bench:end -->")


def test_links_into_the_repository_lead_somewhere():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []
