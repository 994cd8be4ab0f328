"""A runner that tells what a test wants: ``fake_runner.py KEY=VALUE ... VERB``.

It notes each call in the file ``log``, if that is told: a JSON line with its verb, job, process and the clock. A test
starts it a dozen times: it imports little.
"""

# ruff: noqa: PTH123

import json
import os
import sys
import time

started_ns = time.monotonic_ns()
told = dict(word.partition("=")[::2] for word in sys.argv[1:-1])
verb = sys.argv[-1]
job = json.load(sys.stdin)


def note(**more):
    if "log" in told:
        line = json.dumps(
            {"verb": verb, "job": job, "pid": os.getpid(), "at_ns": time.monotonic_ns(), **more}
        )
        with open(told["log"], "a") as log:
            log.write(line + "\n")


def answer(**values):
    print(json.dumps(values))
    sys.exit(0)


note()
can = told.get("can", "read,checksum,entry_range,predict,order:entry,strategy:*").split(",")
if verb == "identify":
    answer(name="fake", versions={"fake": told.get("version", "1")}, can=can)
if "barrier" in job:
    time.sleep(float(told.get("late_s", 0)) * bool(job["entry_range"][0]))
    open(job["barrier"]["ready"], "w").close()
    note(is_ready=True)
    os.close(os.open(job["barrier"]["go"], os.O_RDONLY))
    note(is_begun=True)
if verb == "predict":
    by = {} if "is_nameless" in told else {"by": "fake"}
    seconds = float(told.get("seconds", 0.001)) + job["line"]["latency_ns"] / 1e9
    answer(wall_ns=int(seconds * 1e9), cpu_ns=1000, n_entries=100, error_share=0.1, **by)

if "answer" in told:
    answer(**json.loads(told["answer"]))
n_calls = 0
if "count" in told:
    with open(told["count"], "a+") as counted:
        counted.seek(0)
        n_calls = int(counted.read() or 0) + 1
        counted.truncate(0)
        counted.write(str(n_calls))
if "error" in told and n_calls <= int(told.get("fails_until", 1 << 30)):
    answer(error=told["error"])
if told.get("refuses") and not job.get("wants_checksum"):
    answer(refused=told["refuses"])
if told.get("hangs_s") and not job.get("wants_checksum"):
    time.sleep(float(told["hangs_s"]))

if "leaves_bytes" in told:
    with open(f"{os.environ['TMPDIR']}/left-{os.getpid()}", "wb") as left:
        left.write(b"x" * int(told["leaves_bytes"]))

wall = time.perf_counter_ns()
time.sleep(float(told.get("seconds", 0.001)))
wall_ns = time.perf_counter_ns() - wall
begin, end = job.get("entry_range") or (0, 100)
values = {
    "wall_ns": wall_ns,
    "cpu_ns": 1000,
    "n_entries": end - begin,
    "counters": {told.get("layer", "store"): {"n_reads": int(told.get("n_reads", 1))}},
}
if "n_bytes" in told:
    values["counters"]["store"]["n_bytes"] = int(told["n_bytes"])
# All jobs, or those whose first column is this one.
told_wall_ns = told.get(f"wall_ns_of_{(job.get('columns') or [''])[0]}") or told.get("told_wall_ns")
if told_wall_ns and not job.get("wants_checksum"):
    if told_wall_ns.startswith("/"):  # a file that may have another one by now
        with open(told_wall_ns) as file:
            told_wall_ns = file.read()
    values["wall_ns"] = int(told_wall_ns)
if told.get("n_entries") and not job.get("wants_checksum"):
    values["n_entries"] = int(told["n_entries"])
if "details" in told and not job.get("wants_checksum"):
    values["details"] = json.loads(told["details"])
if job.get("wants_checksum") and "checksum" in told:
    values["checksum"] = json.loads(told["checksum"])
answer(**values)
