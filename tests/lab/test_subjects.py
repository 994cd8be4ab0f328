"""Which cases a run measures, with which entries; and runs whose files, servers, workers and runners go wrong."""

from pathlib import Path

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.matrix import cases
from arrowroot_lab.campaign.model import EngineChoice
from arrowroot_lab.campaign.read import read
from arrowroot_lab.cli import main
from arrowroot_lab.documents import Outcome, decode
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.running import planning
from arrowroot_lab.running.cluster import Errand, WorkerStore, measure_there
from arrowroot_lab.running.subjects import Engines, Preparation
from arrowroot_lab.runs import new_run
from arrowroot_lab.storages.local import Local
from tests.lab.running import LOCAL, engine, run


def prepared(path, directory, **more):
    """What a run would measure; no environment is made for it."""
    engines = planning._EnginesHere(lambda *_: None, path.parent)
    asked, nothing = read(path), planning._Asked(None)
    return Preparation(asked, "site", "run", directory, nothing, engines, lambda *_: None, **more).prepare()


def test_a_glob_chooses_by_names_alone_and_a_key_by_four_digits_or_more(campaign, tmp_path):
    path = campaign(engine("a"))
    key = prepared(path, tmp_path).subjects[0].result.case_id
    for wrong in (f"{key[0]}*", f"{key}*", key[:3], f"{key}@2"):
        with pytest.raises(RequestError, match="no case is"):
            prepared(path, tmp_path, chosen=(wrong,))
    for right in (key, key[:4]):
        assert [one.result.case_id for one in prepared(path, tmp_path, chosen=(right,)).subjects] == [key]


def test_a_dataset_of_which_no_case_is_chosen_is_not_made(campaign, tmp_path):
    (tmp_path / "make.py").write_text("raise SystemExit('it was made')\n")
    path = campaign(engine("a"), top='[dataset.other]\nscript = "make.py"\ntable = "T"\n', storages=LOCAL)
    chosen = prepared(path, tmp_path, chosen=("numbers / *",))
    assert {case.dataset.name for case in chosen.cases} == {"numbers"}
    assert chosen.failures == []
    (failure,) = prepared(path, tmp_path).failures
    assert "it was made" in failure


def test_the_command_of_a_result_repeats_its_version_alone(campaign, tmp_path):
    path = campaign('[engine.uproot]\nversions = ["5.3.0", "5.7.0"]\n', workloads="[workload.all]\n")
    both = prepared(path, tmp_path).decided
    assert len({one.result.case_id for one in both}) == 1
    for one in both:
        word = one.result.command[one.result.command.index("--case") + 1]
        assert [case.label() for case in prepared(path, tmp_path, chosen=(word,)).cases] == [one.label]


def test_lists_of_entries_are_those_of_their_dataset_and_workload_whatever_the_names(campaign, tmp_path):
    few = np.arange(10, dtype=np.int32)
    arrowroot.write(f"{tmp_path / 'few.root'}:T", {"x": few, "y": few})
    path = campaign(
        engine("a", can="read,entries,order:entry,strategy:*"),
        top='[dataset.numbers-all]\nfiles = "few.root"\ntable = "T"\n',
        workloads="[workload.few]\nentry_share = 0.5\n[workload.all-few]\nentry_share = 0.5\n",
    )
    for one in prepared(path, tmp_path).subjects:
        numbers = [int(word) for word in Path(one.job["entries"]).read_text().split()]
        assert len(numbers) == one.found.identity.n_entries / 2
        assert numbers[-1] < one.found.identity.n_entries


def test_an_engine_that_cannot_be_built_is_tried_once_and_named_in_each_of_its_cases(monkeypatch, tmp_path):
    tried = []

    def fails(chosen, **_):
        tried.append(chosen.called())
        raise LabError("it does not compile")

    monkeypatch.setattr("arrowroot_lab.running.subjects.environment", fails)
    engines = Engines(lambda *_: None, tmp_path)
    for version, asked in (("1", engines.versions), ("1", engines.command), ("2", engines.identified)) * 2:
        with pytest.raises(LabError, match="it does not compile"):
            asked(EngineChoice("uproot", version))
    assert tried == ["uproot@1", "uproot@2"]


@pytest.mark.usefixtures("undisturbed")
def test_a_file_that_is_gone_ends_its_cases_and_what_was_measured_of_them_is_kept(campaign, tmp_path):
    class Events(list):
        def append(self, event):
            if event[0] == "sample":
                (tmp_path / "numbers.root").unlink(missing_ok=True)

    summary, results = run(campaign(engine("a")), events=Events())
    assert summary.has_failed
    assert [result.outcome for result in results] == [Outcome.FAILED] * 2
    assert sorted(len(result.counted()) for result in results) == [0, 1]
    assert all("numbers.root: No such file or directory" in result.reason for result in results)


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("what", ["line_figures", "prepare_sample"])
def test_a_server_that_does_not_answer_any_more_ends_its_cases_alone(campaign, tmp_path, monkeypatch, what):
    there = tmp_path / "there"
    there.mkdir()
    before = getattr(Local, what)

    def ended(place):
        if place._copies is not None:
            raise RuntimeError("XCache did not start")
        return before(place)

    monkeypatch.setattr(Local, what, ended)
    path = campaign(engine("a"), storages=f'{LOCAL}[storage.there]\nkind = "local"\ndirectory = "{there}"\n')
    _, results = run(path)
    by_storage = {(result.case["storage_name"], result.outcome, result.reason) for result in results}
    assert by_storage == {("here", Outcome.OK, None), ("there", Outcome.FAILED, "XCache did not start")}


@pytest.mark.usefixtures("undisturbed")
def test_an_error_on_a_worker_sends_back_what_it_has_measured(campaign, monkeypatch):
    path = campaign(engine("a"))
    keep, kept = WorkerStore.put, []

    def put(self, result):
        if kept:
            raise RuntimeError("out of order")
        kept.append(result.uuid)
        return keep(self, result)

    monkeypatch.setattr(WorkerStore, "put", put)
    labels = frozenset(case.label() for case in cases(read(path)))
    errand = Errand(str(path), read(path).text_hash, "there", [], "site", (), False, new_run(), labels)
    told = measure_there(errand)
    assert [decode(document).uuid for document in told["documents"]] == kept
    assert told["failures"] == ["on a worker: RuntimeError: out of order"]


def test_a_text_of_a_runner_moves_no_cursor(campaign, capsys):
    path = campaign(engine("a", error="bad \x1b[2Jname\nok: all good"), workloads="[workload.all]\n")
    told = [str(path), "--db", str(path.with_suffix(".db"))]
    for command in (["run", *told], ["watch", *told, "--once"]):
        assert main(command) == 1
        said = capsys.readouterr()
        assert "bad [2Jname ok: all good" in said.out
        assert "bad [2Jname ok: all good" in said.err
        assert "\x1b" not in said.out + said.err
    path.write_text('[dataset."a\\u001b[2J"]\nfiles = 7\n')
    assert main(["plan", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err
