"""Every public thing has an example, which runs; the page of the API has all of them, with every option."""

import doctest
import importlib.util
import inspect
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "api.md"

spec = importlib.util.spec_from_file_location("api_page", REPOSITORY / "tools" / "api_page.py")
assert spec is not None
assert spec.loader is not None
api_page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api_page)

EXPORTED: dict[str, Any] = api_page.exported()
CLASSES = {name: one for name, one in EXPORTED.items() if isinstance(one, type)}
#: Docstrings by what they are of.
DOCS = {
    "arrowroot": inspect.getdoc(ar) or "",
    **{
        name: inspect.getdoc(one) or ""
        for name, one in EXPORTED.items()
        if isinstance(one, type) or inspect.isroutine(one)
    },
    **{
        f"{name}.{method}": inspect.getdoc(function) or ""
        for name, kind in CLASSES.items()
        for method, function in api_page.methods_of(kind)
    },
}
EXAMPLES = {name: doc for name, doc in DOCS.items() if ">>> " in doc}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Where the files are that the examples name, and what is in them."""
    pytest.importorskip("awkward")
    path = tmp_path_factory.mktemp("examples")
    n = 100
    counts = np.arange(n) % 3
    pt = np.arange(counts.sum(), dtype="f4") / 2 + 10
    data = {
        "run": np.ones(n, "i4"),
        "luminosityBlock": np.ones(n, "u4"),
        "event": np.arange(n, dtype="u8"),
        "MET_pt": np.arange(n, dtype="f4") / 2,
        "Muon_pt": pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(counts)]), pt),
    }
    for name in ("events.root", "run1.root", "run2.root"):
        with ar.create(path / name) as made:
            made["Events"] = data
            made["plots/h_met"] = np.histogram(data["MET_pt"], bins=2, range=(0, 50))
    ar.write(f"{path}/weights.root:Weights", {"event": data["event"], "weight": np.ones(n)})
    with ar.create(path / "annotated.root") as made, made.tree("Events", layout="rntuple") as annotated:
        annotated.append({"x": np.arange(n)})
        lumi = annotated.attributes("lumi", {"run": "int32", "lumi": "float64"})
        lumi.append({"first_entry": [0, 60], "n_entries": [60, 40], "run": [1, 2], "lumi": [12.5, 7.5]})
    ar.write(f"{path}/other.root:Events", {"MET_pt": np.arange(3)})
    whole = (path / "events.root").read_bytes()
    (path / "cut.root").write_bytes(whole[:-4680])
    (path / "notes.txt").write_text("no file of ROOT's\n" * 100, encoding="utf-8")
    shutil.copy(Path(__file__).parents[1] / "fixtures" / "kinds.root", path / "objects.root")
    return path, data


@pytest.fixture
def names(
    directory: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """The objects that the examples are about, as the page of the API says."""
    path, data = directory
    monkeypatch.chdir(path)
    Path("new.root").unlink(missing_ok=True)
    file = ar.open("events.root")
    tree = file["Events"]
    new = ar.create("being-written.root")
    filled = new.tree("filled")
    context = filled.context()
    context.fill(data)
    with context:
        yield {
            "ar": ar,
            "np": np,
            "pa": pa,
            "warnings": warnings,
            "file": file,
            "tree": tree,
            "scan": tree.scan(["MET_pt"]),
            "hist": file["plots/h_met"],
            "objects": ar.open("objects.root"),
            "data": data,
            "new": new,
            "table": new.tree("t"),
            "annotated": ar.open("annotated.root")["Events"],
            "context": context,
        }
    new.abort()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_runs(name: str, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], names, name, None, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    with warnings.catch_warnings():
        # As for anybody who pastes it: a warning is no error, and what an example sets ends with it.
        warnings.simplefilter("ignore")
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_every_public_thing_has_an_example() -> None:
    lacking = [name for name in EXPORTED if name in DOCS and name not in EXAMPLES]
    of_package = [
        name for name in EXPORTED if name not in DOCS and f"ar.{name}" not in EXAMPLES.get("arrowroot", "")
    ]
    # A method that other pages teach stands in some example of its class.
    taught = api_page.taught()
    for name in CLASSES:
        of_class = "\n".join(doc for one, doc in EXAMPLES.items() if one.split(".")[0] == name)
        lacking += [
            one
            for one in DOCS
            if one.startswith(f"{name}.")
            and one.partition(".")[2] in taught
            and f".{one.partition('.')[2]}(" not in of_class
        ]
    assert (lacking, of_package) == ([], [])


def test_the_page_of_the_api_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == api_page.document(), "python tools/api_page.py > docs/api.md"


def test_every_option_is_explained_on_the_page_of_its_function() -> None:
    sections = re.split(r"^#{3,4} ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lacking = []
    for section in sections:
        call = re.search(r"```python\n(.*?)\n```(.*)", section, re.DOTALL)
        if call is None:
            continue
        named = re.findall(r"(?:^|[(\s])(\w+)=", call[1].partition("(")[2], re.MULTILINE)
        lacking += [(section.split("\n")[0], one) for one in named if f"`{one}`" not in call[2]]
    assert lacking == []
