"""No test of the laboratory sees the site's file of whoever runs it; a database server, for those that want one."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.lab.postgresql import postgresql, program


@pytest.fixture(scope="session", autouse=True)
def _no_site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ARROWROOT_SITE", raising=False)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


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
