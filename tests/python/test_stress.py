"""The stress: one number against a reference; what is of other work is not compared."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import arrowroot as ar
from arrowroot._report import busy
from arrowroot._stress import marks, parts
from arrowroot.cli import main, stress
from tests.recorded import session


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """The same parts of far less work."""
    monkeypatch.setattr(parts, "N_ENTRIES", 300)
    monkeypatch.setattr(parts, "N_OBJECTS", 50)
    monkeypatch.setattr(stress, "N_ROUNDS", 1)


def test_all_parts_do_their_work_and_replays_are_the_same_each_time(tmp_path):
    first = parts.Parts(tmp_path).make()
    taken = {part.key: part.take_ns() for part in first}
    assert min(taken.values()) > 0
    assert len(taken) == len(first)
    groups = list(dict.fromkeys(part.group for part in first))
    assert groups == ["decode", "columns", "opening", "writing", "index", "remote"]
    remote = {key: ns for key, ns in taken.items() if key.startswith("remote: ")}
    assert len(remote) == 8
    assert {part.key: part.take_ns() for part in first if part.group == "remote"} == remote


def test_the_reference_that_comes_with_it_is_of_its_work(monkeypatch):
    monkeypatch.undo()
    reference = marks.load(marks.REFERENCE)
    assert reference.work == marks.work_told()
    assert marks.compare(reference, reference).total == pytest.approx(marks.OF_REFERENCE)


def test_marks_are_geometric_means_in_which_each_group_counts_once():
    work, machine = {}, {}
    reference = marks.Times({"a: 1": 100, "a: 2": 100, "b: 1": 100}, work, machine)
    found = marks.compare(marks.Times({"a: 1": 25, "a: 2": 100, "b: 1": 200}, work, machine), reference)
    assert found.parts == {"a: 1": 4, "a: 2": 1, "b: 1": 0.5}
    assert found.groups == pytest.approx({"a": 2, "b": 0.5})
    assert found.total == pytest.approx(1000)
    with pytest.raises(ar.InvalidRequestError, match="of other work"):
        marks.compare(marks.Times({"a: 1": 25}, work, machine), reference)
    assert marks.least([{"a": 3, "b": 2}, {"a": 2, "b": 4}]) == {"a": 2, "b": 2}


def test_the_command_saves_a_reference_and_compares_with_it(tmp_path, capsys):
    place = str(tmp_path / "here.json")
    assert main(["stress", "--save-reference", place]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1,000 marks\n")
    assert f"reference: {place}" in err
    saved = json.loads(Path(place).read_text())
    assert saved["form"] == "arrowroot.stress/1"
    assert main(["stress", "--reference", place, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["marks"] > 0
    assert document["parts"].keys() == saved["parts_ns"].keys()
    # The exact figures are the same.
    remote = {key: value for key, value in document["parts"].items() if key.startswith("remote: ")}
    assert set(remote.values()) == {1000}
    assert document["groups"]["remote"] == pytest.approx(1000)


def test_what_is_no_reference_is_said_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(stress, "Parts", lambda *_: pytest.fail("files were made"))
    session("stress", tmp_path, {"reference": tmp_path / "reference.json"})


def test_a_reference_of_other_parts_is_said_before_anything_is_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(parts.Part, "take_ns", lambda _: pytest.fail("something was measured"))
    place = tmp_path / "reference.json"
    place.write_text(
        json.dumps(
            {"form": marks.FORM, "work": marks.work_told(), "machine": {}, "parts_ns": {"decode: none": 1}}
        )
    )
    assert main(["stress", "--reference", str(place)]) == 2
    assert "the reference is of other work" in capsys.readouterr().err


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Plays ten seconds on two of three processors: ``watched(others, stolen)``, in processors' seconds."""
    stat = tmp_path / "stat"
    seconds = iter([100.0, 110.0])

    def write(busy, stolen):
        ticks = os.sysconf("SC_CLK_TCK")
        cores = [[busy, 0, busy, 9 * ticks, 7, busy, busy, stolen, 0, 0] for _ in range(2)]
        lines = [
            ["cpu", 1, 2],
            *(["cpu" + str(n), *core] for n, core in enumerate(cores)),
            ["cpu2", *[5**9] * 10],
            ["intr", 5],
        ]
        stat.write_text("\n".join(" ".join(map(str, line)) for line in lines) + "\n")

    def play(others, stolen):
        ticks = os.sysconf("SC_CLK_TCK")
        own = os.times()
        monkeypatch.setattr(busy.os, "times", lambda: own)
        monkeypatch.setattr(busy.time, "monotonic", lambda: next(seconds))
        monkeypatch.setattr(busy.os, "sched_getaffinity", lambda _: {0, 1})
        monkeypatch.setattr(busy, "_STAT", stat)
        write(1000, 50)
        watch = busy.Watch()
        write(1000 + round(others * ticks / 8), 50 + round(stolen * ticks / 2))
        return watch.busy()

    return play


@pytest.mark.parametrize(
    ("others", "stolen", "is_busy", "told"),
    [
        (0, 0, False, "0.0 of 2 processors"),
        (1, 0.2, False, "0.1 of 2 processors"),
        (12, 0, True, "other processes kept 1.2 of 2 processors busy meanwhile"),
        (0, 3, True, "and the host took 15% of the time"),
    ],
)
def test_what_others_took_of_the_processors_is_told(watched, others, stolen, is_busy, told):
    found = watched(others, stolen)
    assert found.is_busy is is_busy
    assert told in str(found)
    assert found.others_cores == pytest.approx(others / 10, abs=0.01)
    assert found.stolen_share == pytest.approx(stolen / 20, abs=0.01)


@pytest.mark.parametrize("text", [None, "", "cpu0 1 2 3\n", "cpu0 a b c\n", "cpu99999 1 2 3 4 5 6 7 8\n"])
def test_where_no_system_tells_what_else_ran_it_is_said(tmp_path, monkeypatch, text):
    if text is not None:
        (tmp_path / "stat").write_text(text)
    monkeypatch.setattr(busy, "_STAT", tmp_path / "stat")
    assert busy.Watch().busy() is None


@pytest.mark.parametrize(("load", "is_busy"), [(9.04, True), (2.0, False)])
def test_of_a_moment_the_load_before_says_it(monkeypatch, load, is_busy):
    monkeypatch.setattr(busy.os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(busy.os, "cpu_count", lambda: 4)
    found = busy.Watch().busy()
    assert found.is_busy is is_busy
    assert str(found) == f"its load was {load:.1f} before, with 4 processors"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            busy.Busy(1.5, 0.0, 2.0, 4),
            "was busy: other processes kept 1.5 of 4 processors busy meanwhile (load 2.0 before); marks",
        ),
        (busy.Busy(0.1, 0.0, 2.0, 4), None),
        (None, "what else ran meanwhile is not known here"),
    ],
)
def test_the_command_says_when_the_machine_was_busy(capsys, monkeypatch, found, told):
    monkeypatch.setattr(busy.Watch, "busy", lambda _: found)
    part = parts.Part("decode", "a", lambda: 1000)
    monkeypatch.setattr(stress, "Parts", lambda *_: SimpleNamespace(make=lambda: [part]))
    monkeypatch.setattr(marks, "check_work", lambda *_: None)
    same = marks.Marks(1000, {"decode": 1}, {part.key: 1})
    monkeypatch.setattr(marks, "compare", lambda *_: same)
    assert main(["stress"]) == 0
    out = capsys.readouterr().out
    assert (told in out) if told else ("busy" not in out)
    assert main(["stress", "--json"]) == 0
    wanted = None if found is None else {"is_busy": found.is_busy, **found._asdict()}
    assert json.loads(capsys.readouterr().out)["busy"] == wanted
