"""Batch systems: jobs of Slurm and HTCondor, by programs in their place that run them on this machine."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.site import Batch, Site
from arrowroot_lab.errors import RequestError
from arrowroot_lab.running.batch import _cluster_of, jobs_of
from arrowroot_lab.store import Store
from tests.lab.running import calls, wait_until

SOAK = pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="takes a while: make soak-lab")
FAKE = [sys.executable, str(Path(__file__).with_name("fake_runner.py"))]
CAMPAIGN = """
repeats = 2
[dataset.numbers]
files = "numbers.root"
table = "T"
[storage.here]
kind = "local"
[engine.a]
command = {command}
[workload.wide]
columns = ["x"]
[workload.narrow]
columns = ["y"]
"""
SITE = """
name = "farm"
store = "{directory}/farm.db"
cache = "{directory}/cache"
[batch.slurm]
jobs = 2
host = "127.0.0.1"
[batch.htcondor]
jobs = 1
host = "127.0.0.1"
logs = "{directory}/logs"
[batch.local]
"""
#: As a job of its own, in the background: what it is called is the number of its group of processes.
SBATCH = """#!/bin/sh
cp "$1" "$1.kept"
cat "$1" >>"{log}"
setsid sh "$1.kept" >"{log}.said" 2>&1 &
echo "Submitted batch job $!"
"""
#: The description has the job's command in quotes of HTCondor's own.
CONDOR_SUBMIT = """#!{python}
import re, subprocess, sys
text = open(sys.argv[-1]).read()
open("{log}", "a").write(text)
quoted = re.search(r'^Arguments = "(.*)"$', text, re.MULTILINE)[1]
command = re.fullmatch(r"-c '(.*)'", quoted)[1].replace("''", "'").replace('""', '"')
said = subprocess.DEVNULL
job = subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True, stdout=said, stderr=said)
print(f"1 job(s) submitted to cluster {{job.pid}}.")
"""
CANCEL = """#!/bin/sh
kill -9 "-${{1%.0}}" && echo "$1" >>"{log}.cancelled"
"""


@pytest.fixture
def farm(tmp_path, monkeypatch):
    """A directory with a campaign, a site's file, and the programs of two batch systems; returns their log."""
    arrowroot.write(f"{tmp_path}/numbers.root:T", {"x": np.arange(100), "y": np.arange(100.0)})
    (tmp_path / "c.toml").write_text(CAMPAIGN.format(command=json.dumps(FAKE)))
    (tmp_path / "site.toml").write_text(SITE.format(directory=tmp_path))
    programs = tmp_path / "bin"
    programs.mkdir()
    log = tmp_path / "jobs.log"
    for name, text in (
        ("sbatch", SBATCH), ("condor_submit", CONDOR_SUBMIT), ("scancel", CANCEL), ("condor_rm", CANCEL),
    ):  # fmt: skip
        path = programs / name
        path.write_text(text.format(log=log, python=sys.executable))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)  # workers have their files where they are started
    for name in ("ARROWROOT_LAB_DB", "ARROWROOT_LAB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return log


def lab_run(*more):
    command = [
        sys.executable,
        "-m",
        "arrowroot",
        "lab",
        "run",
        "c.toml",
        "--site",
        "site.toml",
        "--json",
        *more,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def of_this_test(directory):
    return [pid for pid in _pids() if _directory_of(pid) == str(directory)]


def _pids():
    return [path.name for path in Path("/proc").glob("[0-9]*")]


def _directory_of(pid):
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


@pytest.mark.long
@pytest.mark.parametrize(
    "system",
    ["slurm", *(pytest.param(other, marks=SOAK) for other in ("htcondor", "local"))],
)
def test_jobs_measure_a_campaign_and_are_gone_afterwards(system, farm, tmp_path):
    before = set(of_this_test(tmp_path))
    process = lab_run("--batch", system)
    out, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert {one["outcome"] for one in json.loads(out)["results"]} == {"ok"}
    with Store.open(tmp_path / "farm.db", must_exist=True) as store:
        results = list(store.results())
    assert sorted(one.case["workload_name"] for one in results) == ["narrow", "wide"]
    assert {one.site for one in results} == {"farm"}
    if system != "local":
        jobs = farm.read_text()
        assert f"export ARROWROOT_SITE={tmp_path}/site.toml" in jobs
    wait_until(lambda: not set(of_this_test(tmp_path)) - before)


@pytest.mark.long
def test_ctrl_c_takes_back_the_jobs(farm, tmp_path):
    before = set(of_this_test(tmp_path))
    log, text = tmp_path / "calls.log", (tmp_path / "c.toml").read_text()
    told = f'fake_runner.py", "hangs_s=60", "log={log}"'
    (tmp_path / "c.toml").write_text(text.replace('fake_runner.py"', told))
    process = lab_run("--batch", "slurm")
    # A job measures once all are sent.
    wait_until(lambda: any(call["verb"] == "run" for call in calls(log)), process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert len(Path(f"{farm}.cancelled").read_text().split()) == 2
    wait_until(lambda: set(of_this_test(tmp_path)) <= before)


def test_job_descriptions_have_what_the_site_says():
    batch = Batch(
        "slurm", 2, 8, 16 * 10**9, walltime_s=5400, queue="short", account="atlas", directives=("--exclusive",),
        prologue=("source /cvmfs/setup.sh",), python="/opt/python", host="127.0.0.1",
    )  # fmt: skip
    with _cluster_of(batch) as cluster:
        lines = cluster.job_script().splitlines()
    for line in (
        "#SBATCH -p short", "#SBATCH -A atlas", "#SBATCH --cpus-per-task=8", "#SBATCH --mem=15G", "#SBATCH -t 01:30:00",
        "#SBATCH --exclusive", "source /cvmfs/setup.sh",
    ):  # fmt: skip
        assert line in lines
    assert lines[-1].startswith("/opt/python -m distributed.cli.dask_worker tcp://127.0.0.1:")
    assert lines[-1].endswith("--nthreads 1")
    condor = replace(
        batch, system="htcondor", queue=None, disk_bytes=20 * 10**9, directives=('+JobFlavour = "longlunch"',)
    )
    with _cluster_of(condor) as cluster:
        text = cluster.job_script()
    for line in (
        '+JobFlavour = "longlunch"', "accounting_group = atlas", "+MaxRuntime = 5400", "MY.DaskWorkerCores = 8",
        "MY.DaskWorkerDisk = 20000000000", "MY.DaskWorkerMemory = 16000000000",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert "source /cvmfs/setup.sh; /opt/python -m distributed.cli.dask_worker" in text


def test_what_cannot_be_asked_is_told(farm, tmp_path, monkeypatch):
    site = Site("farm", tmp_path / "site.toml", batches={"slurm": Batch("slurm", host="127.0.0.1")})
    with (
        pytest.raises(RequestError, match=r"site farm has no \[batch.pool\]; it has slurm"),
        jobs_of(site, "pool"),
    ):
        pass
    (tmp_path / "bin" / "sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: invalid partition' >&2\nexit 1\n"
    )
    with (
        pytest.raises(RequestError, match=r"slurm takes no job: .*invalid partition"),
        jobs_of(site, "slurm"),
    ):
        pass
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RequestError, match="there is no sbatch here"), jobs_of(site, "slurm"):
        pass
    assert not farm.exists()
