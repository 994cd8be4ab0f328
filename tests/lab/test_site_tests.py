"""Sites by tests: each cell tells the worst storage, its age by its own rhythm and what failed; nothing is hidden."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from arrowroot_lab.watching.choosing import Chosen
from arrowroot_lab.watching.sites import sites
from tests.lab import hubs

LAST = hubs.FIRST_NIGHT + timedelta(days=29)


def all_sites(figures, hours=10, failing=(), last=LAST):
    """The table of sites as of so many hours after the last night began: rows by site."""
    told = sites(
        Chosen.all_of(figures), last + timedelta(hours=hours), {one.uuid: one.site for one in failing}
    )
    return told, {row["site"]: row for row in told.table.records()}


def newest(figures, **named):
    """The newest results of a site, of a storage or of a test."""
    return [
        one
        for one in figures
        if one.created_at > LAST.isoformat()
        and all(getattr(one, key) == value for key, value in named.items())
    ]


def test_a_cell_names_the_worst_of_the_storages_and_then_the_others():
    hub = hubs.Hub(
        sites=("A", "B"),
        storages=("root", "davs", "s3", "xcache", "eos"),
        faults=(hubs.Fault("storage", "A", 20, 1.0, "s3"),),
    )
    told, rows = all_sites(hub.figures())
    assert [column.title for column in told.table.columns[2:5]] == [
        "2 % of branches",
        "10 % of entries",
        "all",
    ]
    for name in hubs.WORKLOADS:
        level = re.fullmatch(r"s3 ([\d.]+)", rows["A"][f"test {name}"])[1]
        assert float(level) == pytest.approx(2, rel=0.05)
        cell = told.cells[0, f"test {name}"]
        assert cell.look == "bad"
        assert re.fullmatch(r"\w+ [\d.]+; \w+ [\d.]+; 2 more up to [\d.]+", cell.more)
        assert told.cells[1, f"test {name}"].look == ""
    short = {row["site"]: row for row in told.text_table.records()}
    assert re.fullmatch(r"\N{BALLOT X} s3 [\d.]+", short["A"]["test all"])
    assert re.fullmatch(r"[\d.]+", short["B"]["test all"])
    parts = {(one["site"], one["test"], one["storage"]): one for one in told.parts_table.records()}
    assert len(parts) == 2 * 3 * 5
    assert {key for key, one in parts.items() if one["state"] == "ill"} == {
        ("A", name, "s3") for name in hubs.WORKLOADS
    }
    assert parts["A", "all", "s3"]["level"] == pytest.approx(2, rel=0.05)


def test_what_rose_alone_is_told_in_the_cells_that_it_is_of():
    figures = [
        one._replace(wall_ns=1.5 * one.wall_ns)
        if (one.site, one.case) == ("B", "all") and one.created_at > "2026-10-20"
        else one
        for one in hubs.Hub(sites=("A", "B")).figures()
    ]
    told, _ = all_sites(figures)
    assert [one.place for one in told.alarms] == ["B, case all"]
    looks = {(row, key) for (row, key), cell in told.cells.items() if cell.look == "bad"}
    assert looks == {(0, "state"), (0, "test all")}
    assert re.fullmatch(r"\N{BALLOT X} all 1\.[45]\d\d", next(iter(told.text_table.records()))["test all"])


def test_an_engine_that_rose_beside_another_one_is_named_in_its_cells():
    figures = [
        each
        for one in hubs.Hub(sites=("A", "B")).figures()
        for each in (
            one,
            one._replace(
                uuid=f"{one.uuid[:-1]}x",
                engine="uproot",
                wall_ns=one.wall_ns * (1.3 if one.site == "A" and one.created_at > "2026-10-20" else 1),
            ),
        )
    ]
    told, rows = all_sites(figures)
    assert [one.place for one in told.alarms] == ["A, engine uproot"]
    for name in hubs.WORKLOADS:
        assert re.fullmatch(r"engine uproot 1\.[23]\d\d", rows["A"][f"test {name}"])


def test_the_level_of_a_rise_that_is_long_is_over_the_nights_before_it():
    hub = hubs.Hub(sites=("A", "B"), faults=(hubs.Fault("storage", "A", 12, 1.0, "davs"),))
    _, rows = all_sites(hub.figures())
    assert float(rows["A"]["test all"].removeprefix("davs ")) == pytest.approx(2, rel=0.05)


def test_a_test_has_a_rhythm_of_its_own_and_is_silent_after_two_rounds_of_that():
    figures = hubs.Hub(sites=("A", "B"), n_nights=36).figures()
    nights = sorted({one.created_at[:10] for one in figures})
    figures = [
        one
        for one in figures
        if (one.site, one.case) not in (("A", "all"), ("A", "2 % of branches"))
        or (one.case == "all" and one.created_at[:10] < nights[-2])
        or (one.case == "2 % of branches" and nights.index(one.created_at[:10]) % 3 == 0)
    ]
    told, rows = all_sites(figures, last=hubs.FIRST_NIGHT + timedelta(days=35))
    assert (rows["A"]["state"], told.cells[0, "state"].look) == ("part silent", "watch")
    assert rows["A"]["test all"].endswith(" silent")
    assert told.silent_tests == ["A, test all for 2 days"]
    # Each third night: two nights without are none that it missed, and its level is that of its own last rounds.
    assert re.fullmatch(r"\w+ [01]\.\d+", rows["A"]["test 2 % of branches"])
    short = told.text_table.records()[0]
    assert short["test all"] == "! all silent, 2 days"
    assert short["test 2 % of branches"].endswith(", 2 days")
    assert (rows["B"]["state"], rows["B"]["n_missed"]) == ("ok", 0)


def test_a_test_that_no_site_measures_any_more_has_no_column_and_is_named():
    figures = [
        one
        for one in hubs.Hub(sites=("A", "B")).figures()
        if one.case != "all" or one.created_at < "2026-10-20"
    ]
    told, rows = all_sites(figures)
    assert "test all" not in rows["A"]
    assert {row["state"] for row in rows.values()} == {"ok"}
    assert told.table.notes[-1] == "Left out, as no site measures them any more: all."
    assert told.silent_tests == []


def test_a_failure_is_counted_at_its_site_and_told_at_its_test_and_storage():
    figures = hubs.Hub(sites=("A", "B")).figures()
    failing = newest(figures, site="A", storage="davs", case="all")
    told, rows = all_sites(figures, failing=failing)
    assert (rows["A"]["state"], rows["A"]["n_failed"], rows["B"]["n_failed"]) == ("failing", 1, 0)
    assert re.fullmatch(r"davs [\d.]+, 1 failed", rows["A"]["test all"])
    assert {key for (row, key), cell in told.cells.items() if cell.look == "bad"} == {
        "state", "test all", "n_failed",
    }  # fmt: skip
    assert (told.alarms, rows["B"]["state"]) == ([], "ok")
    # It is not that of the storage that is worse.
    hub = hubs.Hub(sites=("A", "B"), faults=(hubs.Fault("storage", "A", 20, 1.0, "root"),))
    told, _ = all_sites(hub.figures(), failing=newest(hub.figures(), site="A", storage="davs", case="all"))
    cell = told.text_table.records()[0]["test all"]
    assert re.fullmatch(r"\N{BALLOT X} root [\d.]+, davs 1 failed", cell)


def test_a_site_that_is_late_says_so():
    _, rows = all_sites(hubs.Hub(sites=("A", "B")).figures(), hours=40)
    assert (rows["B"]["state"], rows["B"]["n_missed"]) == ("late", 1)


def test_a_single_site_is_measured_by_hand_perhaps_and_is_not_called_silent():
    figures = [
        one
        for one in hubs.Hub(sites=("A",)).figures()
        if one.storage == "root" or one.created_at < "2026-10-20"
    ]
    told, rows = all_sites(figures, hours=200)
    assert told.alarms == []
    assert (rows["A"]["state"], told.is_deaf) == ("late", False)


def renamed(figures, n_cases, n_workloads, n_campaigns):
    """The same with many cases."""
    return [
        one._replace(
            uuid=f"{one.uuid}{at}",
            case=f"nanoaod / {one.case} / {at} MB",
            workload=f"w{at % n_workloads}",
            campaign=f"c{at % n_campaigns}",
        )
        for one in figures
        for at in range(n_cases)
    ]


def columns(told):
    return [column.title for column in told.table.columns[2:-3]]


def test_many_cases_are_told_by_workload_or_campaign_and_of_more_the_worst_have_a_column():
    hub = hubs.Hub(sites=("A", "B"), storages=("root",))
    figures = [one for one in hub.figures() if one.case == "all"]
    # Names leave out the part that all have in common.
    told, _ = all_sites(renamed(figures, 8, 1, 1))
    assert columns(told) == [f"{at} MB" for at in range(8)]
    assert columns(all_sites(renamed(figures, 9, 3, 2))[0]) == ["w0", "w1", "w2"]
    assert columns(all_sites(renamed(figures, 9, 9, 2))[0]) == ["c0", "c1"]
    many = renamed(figures, 12, 12, 1)
    (failing,) = (
        one for one in many if one.site == "A" and one.created_at[:10] == "2026-10-30" and " 11 " in one.case
    )
    told, rows = all_sites(many, failing=[failing])
    assert columns(told) == ["w11", *(f"w{at}" for at in range(6)), "other tests"]
    assert {part.name for part in told.tests["other tests"]["A"].parts} == {
        f"w{at} root" for at in range(6, 11)
    }
    assert rows["A"]["test w11"].endswith(", 1 failed")


def test_sites_of_which_many_are_well_are_named_below_the_table_of_a_terminal():
    hub = hubs.Hub(
        sites=tuple(f"S{at}" for at in range(16)),
        storages=("root",),
        n_nights=16,
        faults=(hubs.Fault("site", "S10", 12, 1.0),),
    )
    told = sites(Chosen.all_of(hub.figures()), hubs.FIRST_NIGHT + timedelta(days=15, hours=10), {})
    assert [row["site"] for row in told.text_table.records()] == ["S10"]
    note = told.text_table.notes[0]
    well = ", ".join(f"S{at}" for at in range(16) if at != 10)
    assert re.fullmatch(rf"15 more sites are ok, no level above 1\.[01]\d\d: {well}\.", note)
    assert len(told.table.rows) == 16
