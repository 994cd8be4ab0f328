"""Engines of providers: what an ``engines.toml`` may say, and a campaign where no engine of the laboratory's own is."""

from __future__ import annotations

import json
import re
import subprocess
import venv
from importlib.metadata import EntryPoint, distribution
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from packaging.requirements import Requirement

from arrowroot_lab.campaign import providers
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.store import Store
from tests.recorded import session

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "engines.md"
CAMPAIGN = """\
repeats = 1
[dataset.numbers]
files = "*.parquet"
[storage.here]
kind = "local"
[engine.pyarrow]
[engine.polars]
[workload.all]
"""
#: Runs the laboratory's console command where nothing of these can be imported.
COMMAND = """\
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
assert not [name for name in ("arrowroot", "ROOT", "uproot") if find_spec(name)]
[command] = entry_points(group="console_scripts", name="arrowroot-lab")
sys.exit(command.load()())
"""


def of_page(name):
    return re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]


def closure(*names):
    """Distributions and all that they require, by name."""
    found, left = {}, list(names)
    while left:
        if (name := left.pop()) not in found:
            found[name] = distribution(name)
            needed = map(Requirement, found[name].requires or ())
            left += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python that has the laboratory, with what it requires, Polars, and the provider of the page: by links."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, symlinks=True)
    site = next(place.glob("lib/python*/site-packages"))
    for one in closure("arrowroot-lab", "polars").values():
        for top in {file.parts[0] for file in one.files if file.parts[0] not in ("..", "__pycache__")}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(one.locate_file(top)).resolve())
    package, installed = site / "parquet_engines", site / "parquet_engines-1.dist-info"
    package.mkdir()
    for name in ("engines.toml", "engine.py"):
        (package / name).write_text(of_page(name))
    (package / "__init__.py").touch()
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: parquet-engines\nVersion: 1\n")
    of_project = re.search(
        r"```toml\n\[project\.entry-points\.\"(.*?)\"\]\n(.*?)```", PAGE.read_text(), re.DOTALL
    )
    (installed / "entry_points.txt").write_text("[{}]\n{}".format(*of_project.groups()).replace('"', ""))
    return place / "bin" / "python"


@pytest.mark.long
def test_two_parquet_readers_are_measured_where_there_is_no_engine_of_ours(python, tmp_path):
    table = pa.table({"x": [1, 2, 3], "y": [[1.0], [], [2.0, 3.0]]})
    pyarrow.parquet.write_table(table, tmp_path / "numbers.parquet")
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    environment = {
        "ARROWROOT_LAB_CACHE": str(tmp_path / "cache"),
        "ARROWROOT_LAB_DB": str(tmp_path / "lab.db"),
    }

    def lab(*arguments):
        command = [str(python), "-c", COMMAND, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    cases = lab("plan", "c.toml", "--no-predict", "--json")["cases"]
    assert [one["names"]["engine"] for one in cases] == ["pyarrow", "polars"]
    results = lab("run", "c.toml", "--json")["results"]
    assert [one["outcome"] for one in results] == ["ok", "ok"], results
    assert {row["engine"] for row in lab("show", "--json")["rows"]} == {"pyarrow", "polars"}
    with Store.open(tmp_path / "lab.db") as store:
        results = list(store.results())
    for result in results:
        assert result.dataset["n_entries"] == 3
        assert re.fullmatch("[0-9a-f]{16}", result.runner)
    assert {result.case["engine"]: result.checked for result in results} == {
        engine: {"by": by, "is_equal": True, "n_columns": 2}
        for engine, by in (("pyarrow", "polars"), ("polars", "pyarrow"))
    }


def test_faults_of_a_list_of_engines_are_told_with_their_line_and_key(tmp_path):
    def listed(text):
        (tmp_path / "engines.toml").write_text(text)
        return providers.read(tmp_path / "engines.toml")

    session("lists-of-engines", tmp_path, {"listed": listed})


@pytest.fixture
def points(tmp_path, monkeypatch):
    """Lets packages with such texts be the providers of this process."""

    def register(**texts):
        monkeypatch.syspath_prepend(tmp_path)
        for name, text in texts.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").touch()
            (tmp_path / name / "engines.toml").write_text(text)
        named = [EntryPoint(name, name, providers.GROUP) for name in texts]
        monkeypatch.setattr(providers, "entry_points", lambda **_: named)
        providers.registered.cache_clear()
        return named

    yield register
    providers.registered.cache_clear()


def test_two_providers_of_one_name_one_that_is_gone_and_none_at_all_are_told(points):
    named = points(one='[engine.a]\ncommand = ["a"]', other='[engine.a]\ncommand = ["b"]')
    with pytest.raises(LabError, match="one and other both register engines of the name 'a': remove one"):
        providers.registered()
    named[1:] = [EntryPoint("gone", "no_such_package", providers.GROUP)]
    with pytest.raises(
        LabError, match="gone registers engines by no_such_package, and no such package is there"
    ):
        providers.registered()
    named.clear()
    with pytest.raises(LabError, match="no engines are registered, not even the laboratory's own: install"):
        providers.registered()


def test_a_kind_of_files_is_known_by_the_longest_glob_of_its_names(points):
    of_kind = '[files.{0}]\nnames = {1}\nidentity = ["{0}"]\n'.format
    points(one=of_kind("any", '["*"]') + of_kind("table", '["*.csv", "rows-*"]'))
    assert [providers.kind_of(name).name for name in ("x.csv", "rows-1", "x.dat")] == [
        "table",
        "table",
        "any",
    ]
    points(two=of_kind("table", '["*.csv"]'))
    with pytest.raises(RequestError, match=r"x\.dat: no kind of data files has such names; known: \*\.csv\."):
        providers.kind_of("x.dat")
