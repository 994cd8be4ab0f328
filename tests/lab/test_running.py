"""Runs of campaigns: turns, disturbed and failed samples, wrong values, limits; of runners that do as told."""

import json
import os
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from arrowroot_lab import documents
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.cli import main
from arrowroot_lab.documents import Outcome
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.errors import RequestError
from arrowroot_lab.machine import proc, readings
from arrowroot_lab.mining import compare, history
from arrowroot_lab.running import checking, predicting, sampling, virtual_first
from arrowroot_lab.running.predicting import gap
from arrowroot_lab.store import Filter, Store
from arrowroot_servers import NotInstalledError
from tests.lab.fussy import fussy
from tests.lab.running import (
    LOCAL,
    N_ENTRIES,
    calls,
    engine,
    run,
)


def by_workload(results):
    return {result.case["workload_name"]: result for result in results}


@pytest.mark.usefixtures("undisturbed")
def test_samples_are_taken_in_turns_and_each_case_is_measured_once(campaign):
    path = campaign(engine("a") + engine("b"))
    events = []
    summary, results = run(path, events=events)
    assert len(summary.results) == len(results) == 4
    assert not summary.has_failed
    taken = sorted((sample.started_at, sample.turn) for result in results for sample in result.samples)
    assert [turn for _, turn in taken] == [0] * 4 + [1] * 4 + [2] * 4
    for result in results:
        assert result.outcome is Outcome.OK
        assert result.site == "site"
        assert result.dataset["n_entries"] == N_ENTRIES
        assert result.versions["fake"] == "1"
        assert result.case_id in result.command
        for sample in result.samples:
            assert 0 < sample.wall_ns < sample.readings["elapsed_ns"]
            assert len(sample.control_ns) == 2
            assert sample.counters["store"] == {"n_reads": 1}
            assert sample.user_ns + sample.system_ns == sample.details["process_cpu_ns"]
    assert events[-1][3].share == 1.0
    summary, results = run(path)
    assert (len(summary.results), summary.n_known, len(results)) == (0, 4, 4)


@pytest.mark.usefixtures("undisturbed")
def test_again_one_case_another_version_another_site(campaign):
    path = campaign(engine("a"))
    _, results = run(path)
    key = by_workload(results)["wide"].case_id
    assert len(run(path, chosen=(key,), again=True)[1]) == 3
    assert len(run(path, chosen=("* / wide / *",), site="elsewhere")[1]) == 4
    path = campaign(engine("a", version="2"))
    assert len(run(path)[1]) == 6
    with pytest.raises(RequestError, match="no case is nothing"):
        run(path, chosen=("nothing",))


def test_disturbed_samples_are_kept_and_taken_again(campaign, monkeypatch):
    calls = []
    monkeypatch.setattr(
        sampling, "disturbed", lambda *_: calls.append(1) or (["noise"] if len(calls) <= 2 else [])
    )
    _, (result,) = run(campaign(engine("a"), workloads="[workload.all]\n"))
    assert [bool(sample.disturbed) for sample in result.samples] == [True, True, False, False, False]
    # At once, so that the turn has its pairs.
    assert [sample.turn for sample in result.samples] == [0, 0, 0, 1, 2]
    assert len(result.counted()) == 3
    assert result.reason is None


def test_a_machine_that_is_always_disturbed_ends_the_case_nevertheless(campaign, monkeypatch):
    monkeypatch.setattr(sampling, "disturbed", lambda *_: ["noise"])
    _, (result,) = run(campaign(engine("a"), workloads="[workload.all]\n"))
    assert len(result.samples) == 6
    assert result.reason == "0 of 3 samples were undisturbed"


def test_a_machine_that_is_always_disturbed_gets_no_sample_twice(campaign, monkeypatch):
    n_calls = iter(range(1000))
    monkeypatch.setattr(sampling, "disturbed", lambda *_: ["noise"] if next(n_calls) < 60 else [])
    workloads = "".join(f'[workload.w{n}]\ncolumns = ["x"]\nentry_share = 0.{n}\n' for n in range(1, 7))
    path = campaign(engine("a", can="read,entries"), workloads=workloads, repeats=7)
    _, results = run(path)
    # The first cases have all of the disturbed samples that are taken again.
    n_samples = sorted(len(result.samples) for result in results)
    assert n_samples == [7] * 6
    assert all(result.reason == "0 of 7 samples were undisturbed" for result in results)
    # Once it is quiet they are taken again.
    n_calls = iter(range(40, 1000))
    _, results = run(path, again=True)
    newest = {result.case_id: result for result in sorted(results, key=lambda one: one.created_at)}
    assert all(len(result.counted()) == 7 for result in newest.values())


@pytest.mark.parametrize(
    ("first", "n_samples"),
    [
        ([50, 60, 100, 100, 100], 3),
        ([100] * 5, 3),
        # A processor that has waited, and one that stays slower.
        ([100] * 6 + [130, 100], 3),
        ([100] * 6 + [130, 130], 4),
        ([60] * 5, 5),
    ],
)
def test_a_machine_that_was_faster_or_slower_for_a_moment_is_not_disturbed(
    campaign, monkeypatch, first, n_samples
):
    times = iter(first)
    monkeypatch.setattr(sampling, "control_ns", lambda: next(times, 100))
    monkeypatch.setattr(readings, "MAX_OTHERS", 9)
    monkeypatch.setattr(readings, "MAX_STOLEN", 9)
    _, [result] = run(campaign(engine("a"), workloads="[workload.all]\n", repeats=3))
    assert len(result.samples) == n_samples
    assert len(result.counted()) == 3


@pytest.mark.usefixtures("undisturbed")
def test_a_slow_engine_is_slow(campaign):
    _, results = run(
        campaign(engine("quick", seconds=0.01) + engine("slow", seconds=0.2), workloads="[workload.all]\n")
    )
    medians = {
        result.case["engine"]: statistics.median(sample.wall_ns for sample in result.counted())
        for result in results
    }
    assert medians["slow"] > 0.2e9 > medians["quick"]


def test_values_are_compared_with_those_of_another_engine(campaign, numbers):
    asked = {"urls": [str(numbers)], "table": "T", "columns": ["x"], "wants_checksum": True}
    right = ask(registered().engines["arrowroot"].command(), "run", asked).answer["checksum"]
    wrong = {"x": right["x"] | {"order": "0" * 16}}
    workload = '[workload.x]\ncolumns = ["x"]\n'
    path = campaign(
        engine("good", checksum=json.dumps(right)) + engine("bad", checksum=json.dumps(wrong)) + engine("mute")
        + engine("lazy", can="read,entry_range,order:entry,strategy:*", n_entries=10),
        workloads=workload, repeats=1,
    )  # fmt: skip
    summary, results = run(path)
    found = {result.case["engine"]: result for result in results}
    assert found["good"].outcome is Outcome.OK
    assert found["good"].checked == {"by": "uproot", "is_equal": True, "n_columns": 1}
    assert found["good"].checksum == right
    assert found["mute"].checked is None
    assert summary.has_failed
    assert found["bad"].outcome is Outcome.FAILED
    assert found["bad"].reason.startswith(
        "wrong values, as uproot reads others: column x: order is 0000000000000000"
    )
    assert not found["bad"].samples
    # Without checksums the number of entries tells at least that.
    assert found["lazy"].outcome is Outcome.FAILED
    assert found["lazy"].reason.startswith("wrong values: it read 10 entries, and the dataset has 100")


@pytest.mark.long
@pytest.mark.usefixtures("undisturbed")
def test_values_of_some_columns_are_those_of_an_answer_for_more_of_the_same_entries(campaign, monkeypatch):
    asked = []
    monkeypatch.setattr(checking, "ask", lambda *told, **more: asked.append(told[2]) or ask(*told, **more))
    workloads = "".join(
        f"[workload.{name}]\n{told}\n"
        for name, told in (
            ("all", ""),
            ("x", 'columns = ["x"]'),
            ("half", 'columns = ["x"]\nentry_share = 0.5'),
        )
    )
    _, results = run(campaign("[engine.arrowroot]\n", workloads=workloads, repeats=1))
    checked = {name: one.checked for name, one in by_workload(results).items()}
    assert checked == {
        name: {"by": "uproot", "is_equal": True, "n_columns": n}
        for name, n in (("all", 2), ("x", 1), ("half", 1))
    }
    assert [job["columns"] for job in asked] == [None, ["x"]]
    assert asked[1]["entries"] is not None


@pytest.mark.usefixtures("undisturbed")
def test_runners_that_lie_fail_and_the_others_go_on(campaign):
    path = campaign(
        engine("honest")
        + engine("fast", told_wall_ns=-1)
        + engine("slow", told_wall_ns=10**18)
        + engine("lazy", n_entries=5)
        + engine("broken", error="no such table")
        + engine("careful", refuses="not cold")
        + engine("dotted", layer="my.store"),
        workloads="[workload.all]\n",
    )
    summary, results = run(path)
    found = {result.case["engine"]: result for result in results}
    assert {name: result.outcome for name, result in found.items()} == {
        "honest": Outcome.OK, "fast": Outcome.FAILED, "slow": Outcome.FAILED, "lazy": Outcome.FAILED,
        "broken": Outcome.FAILED, "careful": Outcome.REFUSED,
        "dotted": Outcome.FAILED,
    }  # fmt: skip
    assert "wall_ns is -1" in found["fast"].reason
    assert "the whole process took" in found["slow"].reason
    assert "it read 5 entries, the rehearsal 100" in found["lazy"].reason
    assert "no such table" in found["broken"].reason
    assert "counters has 'my.store': 'n_reads', expected a layer without dots" in found["dotted"].reason
    assert len(found["fast"].samples) == 1
    assert len(found["honest"].counted()) == 3
    # Failures are measured again, and nothing else.
    assert summary.has_failed
    again = {result.case["engine"] for result in run(path)[0].results}
    assert again == {"fast", "slow", "lazy", "broken", "careful", "dotted"}


@pytest.mark.usefixtures("undisturbed")
def test_an_answer_that_no_document_can_hold_fails_its_case_and_the_others_go_on(campaign, monkeypatch):
    monkeypatch.setattr(documents, "MAX_BYTES", 100_000)
    path = campaign(
        engine("odd", answer='{"error": "cannot open caf\\udce9.root"}')
        + engine("large", details=json.dumps({"hash": 2**64 - 1}))
        + engine("long", details=json.dumps({"said": "x" * 50_000}))
        + engine("honest"),
        workloads="[workload.all]\n",
    )
    _, results = run(path)
    reasons = {result.case["engine"]: (result.outcome, result.reason or "") for result in results}
    assert reasons["honest"] == (Outcome.OK, "")
    for name, told in (
        ("odd", "cannot open caf\ufffd.root"),
        ("large", "its answer cannot be kept: the document's details.hash: expected an integer of 64 bits"),
        ("long", "its result cannot be kept: the document: a document has at most 100,000 bytes"),
    ):
        assert reasons[name][0] is Outcome.FAILED
        assert told in reasons[name][1]


@pytest.mark.usefixtures("undisturbed")
def test_all_cores_are_told_as_their_number(campaign, tmp_path):
    log, n = tmp_path / "log", len(os.sched_getaffinity(0))
    path = campaign(
        engine("a", can="read,threads", log=log) + engine("b", can="read"),
        workloads="[workload.all]\nthreads = 0\n",
        repeats=1,
    )
    _, results = run(path)
    assert {result.case["threads"] for result in results} == {n}
    assert {call["job"]["threads"] for call in calls(log) if call["verb"] == "run"} == {n}
    skipped = {result.case["engine"] for result in results if result.outcome is Outcome.SKIPPED}
    assert skipped == ({"b"} if n > 1 else set())


@pytest.mark.usefixtures("undisturbed")
def test_a_case_whose_result_could_not_be_kept_is_told_before_anything_is_measured(campaign, tmp_path):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log), workloads="[workload.all]\n", top="")
    path.write_text(f"{path.read_text()}[strategy.auto]\noptions = {{ n = {2**70} }}\n")
    with pytest.raises(
        RequestError, match=r"numbers / here / a / all / auto: .*strategy\.options\.n: expected an"
    ):
        run(path)
    assert {call["verb"] for call in calls(log)} == {"identify"}


@pytest.mark.usefixtures("undisturbed")
def test_each_directory_of_a_campaign_is_a_case_of_its_own_and_tells_its_disk(campaign, tmp_path):
    shared = Path("/dev/shm")  # noqa: S108 - it is in memory
    if proc.storage_kind(shared) != "memory" or proc.storage_kind(tmp_path) == "memory":
        pytest.skip("no directory in memory, or no other one")
    storages = "".join(
        f'[storage.{name}]\nkind = "local"\ndirectory = "{place}"\n'
        for name, place in (("disk", tmp_path), ("memory", shared))
    )
    path = campaign(engine("a"), storages=storages, workloads="[workload.all]\n", repeats=1)
    _, results = run(path)
    found = {result.case["storage_name"]: result for result in results}
    assert found["memory"].machine["storage"] == "memory"
    assert found["disk"].machine["storage"] == proc.storage_kind(tmp_path)
    assert len({result.case_id for result in results}) == 2
    assert run(path)[0].n_known == 2


@pytest.mark.usefixtures("undisturbed")
def test_one_that_hangs_has_timed_out(campaign):
    path = campaign(engine("a", hangs_s=600), workloads="[workload.all]\n", top='[limits]\ntimeout = "3 s"\n')
    summary, (result,) = run(path)
    assert result.outcome is Outcome.TIMED_OUT
    assert "not done after 3 s" in result.reason
    assert len(result.samples) == 1
    assert summary.has_failed


@pytest.mark.usefixtures("undisturbed")
def test_only_what_may_go_by_itself_is_tried_again(campaign, tmp_path):
    told = {"count": tmp_path / "count", "fails_until": 2, "error": "Connection reset by peer"}
    # The rehearsal fails twice, and is tried again; so is a sample.
    with fussy(tmp_path) as server:
        path = campaign(
            engine("a", **told), storages=server.storage(), workloads="[workload.all]\n", repeats=1
        )
        _, (result,) = run(path)
    assert result.outcome is Outcome.OK
    assert (tmp_path / "count").read_text() == "4"
    (tmp_path / "count").unlink()
    summary, results = run(
        campaign(engine("b", **told), workloads="[workload.all]\n", repeats=1, name="d.toml")
    )
    assert summary.has_failed
    assert results[0].reason.endswith("Connection reset by peer")
    assert (tmp_path / "count").read_text() == "1"


def test_what_cannot_be_done_is_skipped_with_its_reason(campaign):
    path = campaign(
        engine("simple", can="read") + '[engine.missing]\ncommand = ["/no/such/program"]\n',
        workloads='[workload.order]\norder = "entry"\n', repeats=1,
    )  # fmt: skip
    summary, results = run(path)
    assert {result.outcome for result in results} == {Outcome.SKIPPED}
    reasons = {result.case["engine"]: result.reason for result in results}
    assert "order:entry" in reasons["simple"]
    assert "cannot run" in reasons["missing"]
    assert not summary.has_failed
    assert len(run(path)[1]) == 2


def test_what_was_asked_for_and_is_not_here_is_told_by_plan_and_run_and_exits_with_three(
    campaign, monkeypatch, capsys, tmp_path
):
    """Another strategy than an engine has is no such thing: a matrix has such cells."""

    def not_here(name, package):
        raise NotInstalledError(f"{name} is not installed: apt install {package}")

    monkeypatch.setattr("arrowroot_servers.nginx.find_program", not_here)
    made = '[dataset.made]\nscript = "make.py"\ntable = "T"\nneeds = ["json", "./make.py", "no_such_thing"]\n'
    path = campaign(
        engine("simple", can="read") + '[engine.missing]\ncommand = ["/no/such/program"]\n',
        storages=LOCAL + '[storage.web]\nkind = "http"\n' + made,
        workloads='[workload.all]\ncolumns = ["x"]\n[workload.order]\norder = "entry"\n', repeats=1,
    )  # fmt: skip
    program = '[engine.program]\n[workload.p]\nkind = "program"\ncommand = ["true"]\nneeds = ["true", "../no/such"]\n'
    apart = (
        '[[exclude]]\nengine = "program"\nworkload = ["all", "order"]\n'
        '[[exclude]]\nengine = ["simple", "missing"]\nworkload = "p"\n'
        '[[exclude]]\ndataset = "made"\nworkload = "p"\n'
    )
    path.write_text(path.read_text() + program + apart)
    (path.parent / "make.py").touch()
    database = ["--db", str(tmp_path / "lab.db"), "--json"]
    of_script = (
        "dataset made: its script needs no_such_thing, which is no program on the PATH, and no module of"
    )
    reasons = {
        "cannot run program: No such file or directory": 4,
        "storage web: nginx is not installed: apt install nginx-light": 1,
        f"{of_script} {sys.executable}": 8,
        f"the workload's command needs ../no/such, which is not there, seen from {path.parent.resolve()}: this "
        "campaign is run in a clone of its repository": 2,
    }
    for _ in range(2):  # the second run has known all of it, and says so once more
        assert main(["plan", str(path), "--no-predict", *database]) == 0
        planned = json.loads(capsys.readouterr().out)["cases"]
        told = [(one["case"], one["reason"]) for one in planned if one["is_missing"]]
        assert Counter(reason for _, reason in told) == reasons, told
        unable = [one["case"] for one in planned if one["state"] == "cannot" and not one["is_missing"]]
        assert unable == [f"numbers / {storage} / simple / order / auto" for storage in ("here", "web")]
        assert main(["run", str(path), *database]) == 3
        told = json.loads(capsys.readouterr().out)
        assert {one["reason"]: one["n_cases"] for one in told["missing"]} == reasons
    assert main(["run", str(path), *database[:2], "--case", "numbers / here / simple / *"]) == 0
    assert main(["plan", str(path), "--no-predict", *database[:2]]) == 0
    said = capsys.readouterr().out.replace("\n", " ")
    assert "8 not here: dataset made: its script needs no_such_thing" in said
    assert "2 cannot: simple cannot do it: order:entry" in said


def test_no_cold_read_from_memory(campaign, numbers, tmp_path):
    shm = Path("/dev/shm")  # noqa: S108 - a tmpfs is what is wanted
    if not os.access(shm, os.W_OK):
        pytest.skip("no /dev/shm")
    copy = shm / f"arrowroot-lab-test-{os.getpid()}.root"
    shutil.copyfile(numbers, copy)
    try:
        path = campaign(engine("a"), storages=LOCAL + "cold = true\n", workloads="[workload.all]\n")
        (tmp_path / "numbers.root").unlink()
        (tmp_path / "numbers.root").symlink_to(copy)
        _, (result,) = run(path)
    finally:
        copy.unlink()
    assert result.outcome is Outcome.REFUSED
    assert "tmpfs" in result.reason


@pytest.mark.usefixtures("undisturbed")
def test_workers_share_the_entries(campaign, tmp_path):
    log = tmp_path / "log"
    _, (result,) = run(campaign(engine("a", log=log), workloads="[workload.all]\nworkers = 3\n", repeats=1))
    assert result.outcome is Outcome.OK, result.reason
    (sample,) = result.samples
    assert sample.details["n_entries"] == N_ENTRIES
    assert len(sample.details["workers"]) == 3
    assert sample.counters["store"]["n_reads"] == 3
    assert sample.wall_ns == max(one["wall_ns"] for one in sample.details["workers"])


@pytest.mark.usefixtures("undisturbed")
def test_what_is_written_is_read_by_another_engine(campaign):
    workload = '[workload.copy]\nkind = "write"\nsettings = { layout = "rntuple" }\n'
    _, (result,) = run(campaign("[engine.arrowroot]\n", workloads=workload, repeats=1))
    assert result.outcome is Outcome.OK, result.reason
    assert result.checked == {"by": "uproot", "is_equal": True, "n_columns": 2}
    assert result.samples[0].counters["written"]["n_bytes"] > 100


@pytest.mark.usefixtures("undisturbed")
def test_a_program_of_the_users_is_measured_and_predicted_from_its_report(campaign):
    command = [sys.executable, "-m", "arrowroot", "perf", "{url}:{table}", "--fjr", "{report}"]
    workload = f'[workload.perf]\nkind = "program"\nreport = "fjr"\ncommand = {json.dumps(command)}\n'
    _, (result,) = run(campaign("[engine.program]\n", workloads=workload, repeats=1))
    assert result.outcome is Outcome.OK, result.reason
    assert result.checked is None
    assert result.samples[0].counters["application"]["n_reads"] > 0
    (prediction,) = result.predictions
    assert prediction["by"] == "model", prediction
    assert prediction["wall_ns"] > 0
    assert "error_share" not in prediction


@pytest.mark.usefixtures("undisturbed")
def test_a_limit_of_time_leaves_cases_for_the_next_run(campaign):
    path = campaign(engine("a", seconds=0.3), top='[limits]\ntotal = "1 s"\n', repeats=3)
    summary, results = run(path)
    assert summary.left
    assert "limit of 1.00 s" in summary.why_left
    assert not summary.has_failed
    path.write_text(path.read_text().replace("1 s", "10 min"))
    summary, results = run(path)
    assert not summary.left
    assert len(results) == 2
    assert all(len(result.samples) == 3 for result in results)


def test_what_differs_between_two_readings_is_told():
    one = {"n": 3, "sum": "1", "order": "2"}
    whole = {"n_entries": 3, "checksum": {"x": one, "y": one}}

    def differs(columns, *, n_entries=3, **more):
        return checking.difference({"n_entries": n_entries, "checksum": columns, **more}, whole, ["x", "y"])

    assert differs({"x": one, "y": one}) == (2, None)
    assert differs({"x": one, "y": {"n": 3, "sum": "1"}}) == (2, None)
    assert differs({"x": one}, details={"unchecked": ["y"]}) == (1, None)
    assert differs({"x": one})[1] == "column y: it was not read"
    assert differs({"x": one, "y": one | {"order": "3"}})[1] == "column y: order is 3, not 2"
    assert differs({"x": one, "y": one}, n_entries=2)[1] == "2 entries, not 3"


def test_a_prediction_is_off_where_the_measurement_is_beyond_its_error():
    told = {"wall_ns": 1000, "error_share": 0.1}
    assert [gap(told, measured_ns) for measured_ns in (910, 1000, 1090)] == [None] * 3
    assert [gap(told, measured_ns) for measured_ns in (500, 1500)] == [-0.5, 0.5]
    assert gap({"by": "nobody", "reason": "no trace"}, 1500) is None


@pytest.mark.usefixtures("undisturbed")
def test_a_prediction_of_nobody_is_none_and_the_samples_beside_it_are_kept(campaign):
    path = campaign(engine("a", is_nameless=1, told_wall_ns=1), workloads="[workload.all]\n", repeats=1)
    _, [result] = run(path)
    assert result.outcome is Outcome.OK
    [prediction] = result.predictions
    assert prediction["by"] == "nobody"
    assert "by is None, expected what has predicted" in prediction["reason"]


@pytest.mark.usefixtures("undisturbed")
def test_a_limit_of_space_leaves_cases_for_the_next_run_and_no_file(campaign, tmp_path, monkeypatch):
    log, scratch = tmp_path / "log", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    # Two rehearsals and the first two samples are within it.
    path = campaign(engine("a", log=log, leaves_bytes=60_000), top='[limits]\ndisk = "270 kB"\n')
    summary, results = run(path)
    assert len(summary.left) == 2
    assert "the campaign's limit is 270 kB" in summary.why_left
    assert str(scratch) in summary.why_left
    assert not summary.has_failed
    assert (results, list(scratch.iterdir())) == ([], [])
    path.write_text(path.read_text().replace("270 kB", "1 GB"))
    summary, results = run(path)
    assert not summary.left
    assert [len(result.samples) for result in results] == [3, 3]
    # No sample was lost, and none taken twice.
    assert sum(call["verb"] == "run" for call in calls(log)) == 2 + 6
    assert list(scratch.iterdir()) == []


@pytest.mark.long
@pytest.mark.usefixtures("undisturbed")
def test_virtual_time_needs_no_line(campaign):
    lines = "".join(
        f'[storage."{ms} ms"]\nkind = "simulated"\nline = {{ latency = "{ms} ms", bandwidth = "100 MB/s" }}\n'
        for ms in (1, 100)
    )
    workload = '[workload.x]\ncolumns = ["x"]\n'
    strategies = "[strategy.auto]\n[strategy.direct]\n"
    path = campaign("[engine.arrowroot]\n", storages=lines, workloads=workload + strategies, repeats=3)
    _, results = run(path)
    walls = {}
    for result in results:
        assert result.outcome is Outcome.OK, result.reason
        assert result.reason is None
        assert result.checked["is_equal"]
        # A replay is exact, so one is enough.
        (sample,) = result.samples
        walls[result.case["storage_name"], result.case["strategy"]["name"]] = sample.wall_ns
        assert len(sample.details["readings_cpu_ns"]) == predicting.N_READINGS
    assert walls["100 ms", "auto"] - walls["1 ms", "auto"] > 90e6
    assert walls["100 ms", "auto"] > 100e6
    assert len({result.samples[0].details["trace"] for result in results}) == 1
    with Store.open(path.with_suffix(".db")) as store:
        _, compared = compare(store, Filter(storage=("100 ms",)), by="strategy", before="direct", now="auto")
        assert [(one.comparison.n_pairs, one.comparison.is_exact) for one in compared] == [(1, True)]
        ratio = walls["100 ms", "auto"] / walls["100 ms", "direct"]
        assert compared[0].comparison.low == compared[0].comparison.high == ratio
        # Another run reads the files anew: its samples are exact to each other alone.
        run(path, chosen=("* / 1 ms / *",), again=True)
        _, compared = compare(store, Filter(storage=("1 ms",)), by="strategy", before="direct", now="auto")
        assert [(one.comparison.n_pairs, one.comparison.is_exact) for one in compared] == [(2, True)]
        told = history(store, Filter(storage=("1 ms",), strategy=("auto",)))
        assert [point.is_firm for point in told.points] == [True, True]


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("is_surprising", [False, True])
def test_virtual_first_measures_corners_and_surprises(campaign, monkeypatch, is_surprising):
    lines = "".join(
        f'[storage."{ms} ms"]\nkind = "simulated"\nline = {{ latency = "{ms} ms", bandwidth = "100 MB/s" }}\n'
        for ms in (1, 2, 3, 4)
    )
    workloads = "".join(f'[workload.w{i}]\ncolumns = ["x"]\nentry_share = 0.{i}\n' for i in (1, 2, 3))
    path = campaign(
        engine("a", can="read,predict,entries"),
        storages=lines,
        workloads=workloads,
        repeats=1,
        top='mode = "virtual first"',
    )
    if is_surprising:
        monkeypatch.setattr(
            virtual_first, "_is_surprise", lambda subject: subject.case.storage.name == "1 ms"
        )
    _, results = run(path)
    found = {(one.case["storage_name"], one.case["workload_name"]): one for one in results}
    assert len(found) == 12
    assert all(one.predictions for one in results)
    measured = {key for key, one in found.items() if one.outcome is Outcome.OK}
    corners = {(storage, workload) for storage in ("1 ms", "4 ms") for workload in ("w1", "w3")}
    assert measured == corners | ({("1 ms", "w2")} if is_surprising else set())
    assert all("predicted only" in one.reason for one in results if one.outcome is Outcome.SKIPPED)
    assert len(run(path)[1]) == 12


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("is_equal", [True, False])
def test_a_program_that_tells_checksums_is_compared_with_another_engine_of_the_campaign(campaign, is_equal):
    def program(name, total):
        told = {"histogram": {"n": 2, "sum": total, "order": "0"}}
        return engine(name, can="program,checksum,strategy:*", checksum=json.dumps(told))

    path = campaign(
        program("a", "1") + program("b", "1" if is_equal else "2") + engine("reader"),
        workloads='[workload.plot]\nkind = "program"\ncommand = ["plot"]\n',
        repeats=1,
    )
    results = {one.case["engine"]: one for one in run(path)[1]}
    assert results.pop("reader").outcome is Outcome.SKIPPED
    if is_equal:
        assert {one.outcome for one in results.values()} == {Outcome.OK}
        assert results["a"].checked == {"by": "b", "is_equal": True, "n_columns": 1}
        assert results["b"].checked == {"by": "a", "is_equal": True, "n_columns": 1}
    else:
        assert {one.outcome for one in results.values()} == {Outcome.FAILED}
        assert "wrong values, as a has others: column histogram: sum is 2, not 1" in results["b"].reason
