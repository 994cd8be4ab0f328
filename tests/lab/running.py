"""Campaigns of runners that do as told, and runs of them: in this process, and by the command."""

import json
import subprocess
import sys
import time
from pathlib import Path

from arrowroot_lab.campaign.read import read
from arrowroot_lab.machine import control, proc
from arrowroot_lab.running import processes, sampling
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store

FAKE = Path(__file__).with_name("fake_runner.py")
N_ENTRIES = 100
#: What happens at all happens within it, on a machine that does much else, too.
PATIENCE_S = 400
CASES = ("wide", "narrow")

CAMPAIGN = """
title = "a campaign of fakes"
repeats = {repeats}
{top}

[dataset.numbers]
files = "numbers.root"
table = "T"

{storages}
{engines}
{workloads}
"""
#: Bytes of the control kernel.
SMALL_KERNEL_BYTES = 1 << 14
#: The command ``arrowroot``, with a small control kernel.
PROGRAM = f"""\
import runpy
from arrowroot_lab.machine import control
control.N_BYTES = {SMALL_KERNEL_BYTES}
runpy.run_module("arrowroot", run_name="__main__", alter_sys=True)
"""
LOCAL = '[storage.here]\nkind = "local"\n'
WORKLOADS = "".join(
    f'[workload.{name}]\ncolumns = ["{column}"]\n' for name, column in zip(CASES, "xy", strict=True)
)


def disturb_nothing():
    """Have samples of this process count, whatever else the machine does, after a small control kernel."""
    control.N_BYTES = SMALL_KERNEL_BYTES
    control._data.cache_clear()
    sampling.disturbed = lambda *_: []


def engine(name, **told):
    words = [sys.executable, "-I", "-S", str(FAKE), *(f"{key}={value}" for key, value in told.items())]
    return f"[engine.{name}]\ncommand = {json.dumps(words)}\n"


def run(path, *, chosen=(), again=False, site="site", events=None):
    """Run a campaign here; return what came of it, and all results in the database."""

    def show(kind, about, text, state):
        if events is not None:
            events.append((kind, about, text, state))

    with Store.open(path.with_suffix(".db")) as store:
        summary = Session(read(path), store, site, Progress(show), chosen, again).run()
        return summary, list(store.results())


def lab_run(path, *more, **options):
    more = ("--db", str(path.with_suffix(".db")), "--site", "s", *more)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "lab", "run", str(path), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def wait_until(holds, process=None, seconds=PATIENCE_S):
    """Wait for something that happens while a process runs, which a machine that does much else keeps waiting."""
    end = time.monotonic() + seconds
    while not holds():
        assert process is None or process.poll() is None or holds(), process.communicate()
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


def calls(log):
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def descendants(pid):
    """The processes below one: number -> the program's name."""
    found, to_see = {}, [pid]
    while to_see:
        for child in processes.children(to_see.pop()):
            if (name := proc.text(f"/proc/{child}/comm")) is not None:
                found[child] = name
                to_see.append(child)
    return found
