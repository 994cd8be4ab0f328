"""No test of the laboratory sees the site's file of whoever runs it; a database server and campaigns, for some."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

import arrowroot
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.machine import control
from arrowroot_lab.running import checking, sampling
from arrowroot_lab.store import Store
from arrowroot_lab.store.place import engine_of, resolve
from tests.lab.postgresql import postgresql, program
from tests.lab.running import CAMPAIGN, LOCAL, N_ENTRIES, SMALL_KERNEL_BYTES, WORKLOADS


@pytest.fixture(scope="session", autouse=True)
def _no_site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ARROWROOT_SITE", raising=False)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True)
def _site_of_one_test():
    """A site that a command in this process was told of is that of what it starts, and not of the next test."""
    before = os.environ.get("ARROWROOT_SITE")
    yield
    if before is None:
        os.environ.pop("ARROWROOT_SITE", None)
    else:
        os.environ["ARROWROOT_SITE"] = before


@pytest.fixture(scope="session", autouse=True)
def _small_kernel():
    """The control kernel around each sample takes a tenth of a second of its own: here it is less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "N_BYTES", SMALL_KERNEL_BYTES)
        control._data.cache_clear()
        yield
    control._data.cache_clear()


@pytest.fixture(scope="session")
def server():
    """The URL of a PostgreSQL server."""
    if program("initdb") is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs PostgreSQL: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg")
    directory = Path(tempfile.mkdtemp(prefix="lab-postgresql-"))
    try:
        with postgresql(directory) as url:
            yield url
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def schema(server):
    """The URL of an empty database on a server: a schema of its own."""
    name, engine = f"test_{os.urandom(6).hex()}", engine_of(resolve(server))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{server}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A place for a database, which is not there yet; on a server in a schema of its own."""
    return str(tmp_path / "lab.db") if request.param == "sqlite" else request.getfixturevalue("schema")


@pytest.fixture
def store(place):
    with Store.open(place) as opened:
        yield opened


@pytest.fixture(scope="session")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("running") / "numbers.root"
    x = np.arange(N_ENTRIES, dtype=np.int32)
    arrowroot.write(f"{path}:T", {"x": x, "y": x.astype(np.float64)})
    return path


@pytest.fixture
def campaign(tmp_path, tmp_path_factory, numbers, monkeypatch):
    """Writes a campaign beside its data.

    The cache is one for all tests, so that the file's identity is found once; no ROOT, which takes seconds to start.
    """
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path_factory.getbasetemp() / "lab-cache"))
    engines = registered().engines
    monkeypatch.setattr(checking, "references", lambda _: [engines["uproot"], engines["arrowroot"]])

    def write(engines, *, storages=LOCAL, workloads=WORKLOADS, repeats=3, top="", name="c.toml"):
        target = tmp_path / "numbers.root"
        if not target.exists():
            target.symlink_to(numbers)
        path = tmp_path / name
        path.write_text(
            CAMPAIGN.format(engines=engines, storages=storages, workloads=workloads, repeats=repeats, top=top)
        )
        return path

    return write


@pytest.fixture
def undisturbed(monkeypatch):
    """Samples count, whatever else the machine does."""
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])


@pytest.fixture
def site_with_storages(tmp_path, monkeypatch):
    """The site of this process has two storages: some campaigns are of whatever the site has."""
    path = tmp_path / "site.toml"
    storages = (
        f'[storage.{name}]\nkind = "url"\nurl = "{name}://x.example/{{file}}"\n' for name in ("root", "http")
    )
    path.write_text(f'name = "test"\n{"".join(storages)}')
    monkeypatch.setenv("ARROWROOT_SITE", str(path))
