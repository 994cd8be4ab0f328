"""A round as one plain job: nothing but its scratch directory may be written, and no network is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arrowroot_lab.location import Location
from arrowroot_lab.store import Store
from tests.command import run_here

REPOSITORY = Path(__file__).resolve().parents[2]
#: The job of the document, as it is written there.
JOB = re.search(
    r"<!-- job.sh -->\n```sh\n(.*?)```", (REPOSITORY / "docs/lab/sites.md").read_text(), re.DOTALL
)[1]
#: All is read-only but one directory, and the loopback is the only interface. Arguments: it, and a command.
SEALED = """
set -eu
scratch=$1; shift
mount --bind "$scratch" "$scratch"
cut -d' ' -f5 /proc/self/mountinfo | sort -r | while read -r point; do
  case "$point" in /proc*|/sys*|/dev*|"$scratch") ;; *) mount -o remount,bind,ro "$point" || true;; esac
done
ip link set lo up || true
if touch /tmp/written "$HOME/written" 2>/dev/null; then echo "it is not sealed" >&2; exit 99; fi
unset HOME
exec "$@"
"""
CAMPAIGN = """
repeats = 2
shared = true
[dataset.nano]
sample = { kind = "nanoaod", entries = 300 }
[storage.disk]
kind = "local"
[storage.server]
kind = "http"
[engine.arrowroot]
[workload.few]
columns = ["run"]
"""


def relocated(to: Path) -> Path:
    """An installation with a Python of its own, at another place than it was made at."""
    subprocess.run(["make", "relocatable"], cwd=REPOSITORY, check=True)
    return Path(shutil.move(REPOSITORY / "dist" / "arrowroot-lab", to))


@pytest.mark.long
@pytest.mark.parametrize(
    "is_relocated",
    [
        False,
        pytest.param(
            True, marks=pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="builds for minutes")
        ),
    ],
)
def test_a_round_writes_to_its_scratch_directory_alone_and_needs_no_network(tmp_path, is_relocated):
    sealing = ["unshare", "--map-root-user", "--mount", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*sealing, "true"], check=False).returncode:
        pytest.skip("this user may make no namespaces")
    scratch, place = tmp_path / "scratch", tmp_path / "campaign.toml"
    scratch.mkdir()
    (tmp_path / "job.sh").write_text(JOB)
    storages = (
        CAMPAIGN if shutil.which("nginx") else CAMPAIGN.replace('[storage.server]\nkind = "http"\n', "")
    )
    place.write_text(storages)
    installation = relocated(tmp_path / "moved") if is_relocated else Path(sys.prefix)
    job = ["sh", str(tmp_path / "job.sh"), str(installation), str(place)]
    done = subprocess.run(
        [*sealing, "sh", "-c", SEALED, "sealed", str(scratch), *job],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(scratch), "HOME": str(Path.home())},
        cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in scratch.iterdir()} >= {"lab.db", "cache", "results", "results.tar"}
    hub = tmp_path / "hub.db"
    assert run_here("lab", "import", str(scratch / "results"), "--db", str(hub)).returncode == 0
    with Store.open(Location(str(hub))) as store:
        found = list(store.results())
    assert {one.outcome.value for one in found} == {"ok"}
    assert len(found) == storages.count("[storage.")
