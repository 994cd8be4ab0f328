"""Plans: what a run would do and how long it would take, from results and predictions; nothing is made or measured."""

from __future__ import annotations

import json
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from arrowroot_lab.campaign import datasets
from arrowroot_lab.campaign.matrix import case_document, cases
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.campaign.read import read
from arrowroot_lab.cli import main
from arrowroot_lab.documents import Outcome, Result, Sample
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.errors import LabError
from arrowroot_lab.running import subjects
from arrowroot_lab.running.estimating import FACTOR, case_ns, sample_ns, size_of
from arrowroot_lab.store import Store

TEXT = """
repeats = 3
[dataset.d]
sample = { entries = 30 }
[storage.near]
kind = "local"
[storage.far]
kind = "xrootd"
line = { latency = "40 ms" }
[engine.arrowroot]
[workload.some]
columns = ["run", "event"]
[workload."with work"]
columns = ["run", "event"]
work_per_entry = "1 us"
[strategy.auto]
[strategy.direct]
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache in which the dataset is made."""
    path = tmp_path_factory.mktemp("made")
    (path / "c.toml").write_text(TEXT)
    told = read(path / "c.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARROWROOT_LAB_CACHE", str(path / "cache"))
        datasets.make(told, told.datasets[0])
    return path / "cache"


@pytest.fixture
def found(campaign, cache, monkeypatch):
    """The dataset, which is there."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(cache))
    found = datasets.find(campaign, campaign.datasets[0])
    assert found is not None
    return found


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """The campaign, with a cache and a working directory of the test's own."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARROWROOT_LAB_DB", raising=False)
    monkeypatch.delenv("ARROWROOT_SITE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(TEXT)
    return read(tmp_path / "c.toml")


@pytest.fixture
def plan(capsys):
    """Plan by the command, and return what it says as JSON."""

    def plan(*options):
        assert main(["plan", "c.toml", "--json", *options]) == 0
        told = json.loads(capsys.readouterr().out)
        return told, {case["case"]: case for case in told["cases"]}

    return plan


@pytest.fixture(scope="module")
def versions():
    return ask(registered().engines["arrowroot"].command(), "identify").answer["versions"]


def put(campaign, found, case, seconds, *, versions, site=None, outcome=Outcome.OK):
    """Store a result of a case as a run of the campaign would."""
    samples = [
        Sample(turn, f"2026-01-01T00:00:0{turn}.000Z", outcome, wall_ns=int(seconds * 1e9), cpu_ns=1)
        for turn in range(3)
    ]
    result = Result(
        case_document(case, found.identity), site or platform.node() or "here", {"cpu": "x"}, versions,
        found.identity.document(case.dataset.name), {"name": campaign.name, "run": "r"}, samples, outcome,
    )  # fmt: skip
    with Store.open() as store:
        assert store.put(result)


def test_nothing_is_made_measured_or_stored_by_a_plan(campaign, plan, tmp_path):
    told, planned = plan()
    assert len(planned) == 8
    assert {case["state"] for case in planned.values()} == {"to measure"}
    assert {case["reason"] for case in planned.values()} == {"its dataset is made first"}
    assert {case["basis"] for case in planned.values()} == {"estimated"}
    assert told["n_unknown"] == 0
    assert told["is_rough"]
    assert list(told["making_ns"]) == ["dataset d"]
    cases_ns = sum(case["total_ns"] for case in planned.values())
    assert told["total_ns"] == pytest.approx(cases_ns + told["making_ns"]["dataset d"])
    # Each case is five processes, of which each starts.
    assert cases_ns > 8 * 5 * 0.2e9
    far, near = (
        planned[f"d / {storage} / arrowroot / some / direct"]["sample_ns"] for storage in ("far", "near")
    )
    assert far > near + 2 * 40e6
    assert any("Dataset d is made" in note for note in told["notes"])
    assert datasets.find(campaign, campaign.datasets[0]) is None
    assert not (tmp_path / "arrowroot-lab.db").exists()


@pytest.mark.long
@pytest.mark.usefixtures("found")
def test_what_is_not_measured_is_predicted_by_its_runner(plan, tmp_path):
    (tmp_path / "c.toml").write_text(TEXT + '[[include]]\nworkload = "some"\n')
    _, planned = plan("--no-predict")
    assert {case["basis"] for case in planned.values()} == {"estimated"}
    told, planned = plan()
    assert told["n_unknown"] == 0
    assert all(case["basis"].startswith("predicted by ") for case in planned.values())
    far = planned["d / far / arrowroot / some / direct"]
    near = planned["d / near / arrowroot / some / direct"]
    # At least the round trips of the opening and of one read.
    assert far["sample_ns"] > near["sample_ns"] + 2 * 40e6
    assert told["total_ns"] == pytest.approx(sum(case["total_ns"] for case in planned.values()))


def test_results_say_what_is_measured_and_how_long_alike_cases_take(campaign, plan, versions, found):
    by_label = {case.label(): case for case in cases(campaign)}
    put(campaign, found, by_label["d / near / arrowroot / some / auto"], 2.0, versions=versions)
    put(
        campaign,
        found,
        by_label["d / near / arrowroot / with work / auto"],
        3.0,
        versions={"arrowroot": "0.0.1"},
    )
    put(
        campaign,
        found,
        by_label["d / far / arrowroot / some / auto"],
        4.0,
        versions=versions,
        site="elsewhere",
    )
    put(
        campaign,
        found,
        by_label["d / far / arrowroot / some / direct"],
        9.0,
        versions=versions,
        outcome=Outcome.FAILED,
    )
    _, planned = plan("--no-predict")
    told = {label: (case["state"], case["sample_ns"], case["basis"]) for label, case in planned.items()}

    def scaled(label, by, seconds):
        this, that = (sample_ns(by_label[f"d / {name}"], found) for name in (label, by))
        return pytest.approx(seconds * 1e9 * this / that)

    assert told == {
        "d / near / arrowroot / some / auto": ("measured", 2e9, "measured here"),
        # Measured by another version only.
        "d / near / arrowroot / with work / auto": ("to measure", 3e9, "measured here"),
        "d / far / arrowroot / some / auto": ("to measure", 4e9, "measured elsewhere"),
        "d / far / arrowroot / some / direct": (
            "to measure",
            scaled("far / arrowroot / some / direct", "far / arrowroot / some / auto", 4),
            "another strategy, scaled",
        ),
        "d / near / arrowroot / some / direct": ("to measure", 2e9, "another strategy, scaled"),
        "d / near / arrowroot / with work / direct": ("to measure", 3e9, "another strategy, scaled"),
        "d / far / arrowroot / with work / auto": (
            "to measure",
            scaled("far / arrowroot / with work / auto", "near / arrowroot / with work / auto", 3),
            "another storage, scaled",
        ),
        "d / far / arrowroot / with work / direct": (
            "to measure",
            scaled("far / arrowroot / with work / direct", "near / arrowroot / with work / auto", 3),
            "another storage, scaled",
        ),
    }
    assert told["d / far / arrowroot / some / direct"][1] > 4e9
    assert told["d / far / arrowroot / with work / auto"][1] > 3e9
    assert planned["d / near / arrowroot / some / auto"]["total_ns"] is None


@pytest.mark.usefixtures("found")
def test_what_cannot_be_measured_takes_no_time_and_says_why(plan, tmp_path):
    text = TEXT.replace("[engine.arrowroot]", '[engine.nobody]\ncommand = ["/nowhere/runner"]')
    (tmp_path / "c.toml").write_text(text)
    told, planned = plan()
    assert {case["state"] for case in planned.values()} == {"cannot"}
    assert {case["reason"] for case in planned.values()} == {"cannot run runner: No such file or directory"}
    assert (told["total_ns"], told["n_unknown"]) == (0, 0)


@pytest.mark.usefixtures("found")
def test_an_environment_that_is_not_there_is_not_made_for_a_plan(plan, tmp_path, cache):
    (tmp_path / "c.toml").write_text(
        TEXT.replace("[engine.arrowroot]", '[engine.uproot]\nversions = ["5.0.0"]')
    )
    told, planned = plan()
    assert planned["d / near / uproot@5.0.0 / some / auto"]["state"] == "to measure"
    assert "The environment of uproot@5.0.0 is made first." in told["notes"]
    assert told["making_ns"] == {"environment uproot@5.0.0": pytest.approx(60e9)}
    assert not list(cache.glob("environments/*/"))


@pytest.mark.usefixtures("found")
def test_virtual_first_marks_the_corners(plan, tmp_path, capsys):
    text = TEXT.replace("repeats = 3", 'repeats = 3\nmode = "virtual first"').replace(
        "[storage.far]", '[storage.middle]\nkind = "xrootd"\nline = { latency = "1 ms" }\n[storage.far]'
    )
    (tmp_path / "c.toml").write_text(text)
    _, planned = plan("--no-predict")
    assert {case["state"] for case in planned.values() if case["is_corner"]} == {"to measure"}
    assert {case["names"]["storage"] for case in planned.values() if not case["is_corner"]} == {"middle"}
    assert {case["state"] for case in planned.values() if not case["is_corner"]} == {"predicted first"}
    assert main(["plan", "c.toml", "--no-predict"]) == 0
    said = capsys.readouterr().out
    assert "12 cases: 8 to measure, 4 predicted first" in said.replace("\n", " ")


@pytest.mark.usefixtures("campaign")
def test_a_campaign_at_fault_ends_with_2_and_its_line(tmp_path, capsys):
    (tmp_path / "c.toml").write_text(TEXT.replace('kind = "local"', 'kind = "locl"'))
    assert main(["plan", "c.toml"]) == 2
    assert "c.toml:6: storage.near.kind: expected one of 'local'" in capsys.readouterr().err
    assert main(["plan", "none.toml"]) == 2
    assert main(["plan", "c.toml", "--db", str(tmp_path / "none.db")]) == 2


FAULTY = """\
repeats = 10

[dataset.a]
sample = { kin = "nanoaod", entries = 10_000 }
[storage.near]
kind = "xrotd"
[storage.far]
kind = "http"
line = { latency = "50" }
[engine.arrowroot]
[workload.all]
[[exclude]]
storage = "middle"
"""
FAULTY_SITE = """\
name = "here"

[storage.SE]
kind = "xrotd"
"""


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize(
    ("page", "command"), [("campaigns", "plan c.toml"), ("sites", "run c.toml --site site.toml")]
)
def test_faults_are_told_as_the_documents_show_them(tmp_path, capsys, monkeypatch, page, command):
    monkeypatch.setenv("ARROWROOT_SITE", "")
    (tmp_path / "c.toml").write_text(FAULTY)
    (tmp_path / "site.toml").write_text(FAULTY_SITE)
    assert main(command.split()) == 2
    said = capsys.readouterr().err.replace(f"{tmp_path}/", "")
    text = (DOCUMENTS / f"{page}.md").read_text()
    shown = text.partition(f"    $ arrowroot lab {command}\n")[2].partition("\n\n")[0]
    assert said.splitlines() == [line.removeprefix("    ") for line in shown.splitlines()]


DOCUMENTS = Path(__file__).parents[2] / "docs" / "lab"
CAMPAIGNS = Path(__file__).parents[2] / "campaigns"


@pytest.fixture(scope="module")
def answered():
    """What programs have said of themselves: a process of each takes longer than a plan."""
    return {}


@pytest.fixture
def _each_is_asked_once(answered, monkeypatch):
    def once(command, verb, *args, **more):
        key = verb, *map(str, command)
        if verb != "identify":
            return ask(command, verb, *args, **more)
        if key not in answered:
            try:
                answered[key] = ask(command, verb, *args, **more)
            except LabError as error:
                answered[key] = error
        if isinstance(answered[key], LabError):
            raise answered[key]
        return answered[key]

    monkeypatch.setattr(subjects, "ask", once)


@pytest.mark.usefixtures("campaign", "site_with_storages", "_each_is_asked_once")
@pytest.mark.parametrize("path", sorted(CAMPAIGNS.rglob("*.toml")), ids=lambda path: path.stem)
def test_a_fresh_campaign_has_an_estimate_of_each_case(path, capsys):
    assert main(["plan", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n_unknown"], told["is_rough"]) == (0, True)
    # A program that is not compiled yet is no case without an estimate.
    possible = [case for case in told["cases"] if "compiles it" not in case["reason"]]
    assert all(case["sample_ns"] > 0 and case["total_ns"] > 0 for case in possible)
    assert all(ns > 0 for ns in told["making_ns"].values())


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize("put", ["", "push = true\n"])
def test_a_plan_says_what_must_be_on_a_server_already(plan, tmp_path, put):
    elsewhere = f'[storage.SE]\nkind = "url"\nurl = "http://127.0.0.1:9/{{file}}"\n{put}[engine.arrowroot]'
    (tmp_path / "c.toml").write_text(TEXT.replace("[engine.arrowroot]", elsewhere))
    told, _ = plan()
    said = "Made here, and put nowhere: d. It must be at SE already, or these say `push`."
    assert (said in told["notes"]) is not bool(put)


@pytest.mark.usefixtures("campaign")
def test_a_plan_says_how_far_off_its_estimates_are(capsys):
    assert main(["plan", "c.toml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"estimated: up to {FACTOR:g} times more or less" in said


def test_estimates_are_as_far_off_as_the_plan_says():
    """Medians of the campaign ``storages``, measured on two cores: in ns, by storage, engine and workload."""
    measured = json.loads(Path(__file__).with_name("measured_storages.json").read_text())
    by_label = {case.label(): case for case in cases(read(CAMPAIGNS / "storages.toml"))}
    ratios = {}
    for label, wall_ns in measured["wall_ns"].items():
        ratios[label] = sample_ns(by_label[label], None) / wall_ns
    within = [label for label, ratio in ratios.items() if 1 / FACTOR <= ratio <= FACTOR]
    assert len(ratios) >= 70
    assert len(within) >= 0.9 * len(ratios), sorted(ratios.items(), key=lambda item: item[1])


def test_what_is_asked_for_takes_longer_the_more_it_is(campaign):
    (dataset,) = campaign.datasets
    by_label = {case.label().removeprefix("d / "): case for case in cases(campaign)}
    one = by_label["far / arrowroot / some / auto"]

    def recipe(**told):
        return replace(dataset, recipe=replace(dataset.recipe, **told))

    larger = replace(one, dataset=recipe(about_bytes=1e9))
    assert size_of(larger.dataset, None) == 1e9
    slower = replace(one, storage=replace(one.storage, line=replace(one.storage.line, latency_ns=10**9)))
    busier = by_label["far / arrowroot / with work / auto"]
    direct = by_label["far / arrowroot / some / direct"]
    alone = sample_ns(one, None)
    for other in (larger, slower, busier, direct):
        assert sample_ns(other, None) > alone
    program = replace(one, workload=replace(one.workload, kind="program"))
    assert sample_ns(program, None) is None
    assert sample_ns(replace(one, dataset=recipe(about_bytes=None)), None) is None
    assert sample_ns(replace(one, dataset=recipe(about_bytes=1e6)), None) > 0
    # Work is done for each entry.
    few, many = (replace(busier, dataset=recipe(about_bytes=1e6, about_entries=n)) for n in (1, 1_000_000))
    assert sample_ns(many, None) - sample_ns(few, None) > 0.9e9
    # The entries of a list count, whatever there is besides.
    listed = replace(many, workload=replace(many.workload, entry_list="l", n_listed=1))
    assert sample_ns(listed, None) == sample_ns(few, None)
    # In virtual time there is one sample, and nothing waits for the line.
    far = replace(one, storage=replace(slower.storage, kind="simulated"))
    assert case_ns(far, None, 5, sample_ns(far, None)) < case_ns(slower, None, 5, sample_ns(slower, None))
