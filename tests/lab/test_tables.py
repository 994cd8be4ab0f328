"""Tables as others get them: exports, and what a terminal, a page and a spreadsheet show of any text."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import replace

import duckdb
import pyarrow.dataset
from hypothesis import given
from hypothesis import strategies as st

from arrowroot_lab.mining import Column, ResultTable, writing
from arrowroot_lab.mining.exporting import export, export_directory
from arrowroot_lab.store import Store
from tests.lab.made import Made


def test_duckdb_reads_an_export_by_campaign_and_month_and_finds_what_the_views_have(tmp_path):
    made = [*Made(n_samples=2).results(), *Made(seed=3, campaign="other", n_samples=2).results()]
    made = [
        replace(one, created_at=one.created_at.replace("2026-10", "2026-09")) if n % 3 else one
        for n, one in enumerate(made)
    ]
    with Store.open(tmp_path / "lab.db") as opened:
        for result in made:
            opened.put(result)
        export_directory(opened, None, tmp_path / "out")
        with opened._engine.connect() as connection:
            query = """
                SELECT r.campaign, substr(r.created_at, 1, 7) AS month, r.engine, count(*), sum(c.value)
                FROM results r JOIN samples s ON s.uuid = r.uuid
                JOIN counters c ON c.uuid = s.uuid AND c.place = s.place
                WHERE s.is_counted = 1 AND c.layer = 'store' AND c.name = 'n_reads'
                GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
            wanted = [tuple(row) for row in connection.exec_driver_sql(query)]

    def of(table):
        files = f"'{tmp_path}/out/{table}/**/*.parquet'"
        return f"read_parquet({files}, hive_partitioning = true, hive_types_autocast = false)"

    query = f"""
        SELECT campaign, month, r.engine, count(*), sum(s."store.n_reads")::BIGINT
        FROM {of("results")} r JOIN {of("samples")} s USING (uuid, campaign, month)
        WHERE s.is_counted AND s."store.n_reads" IS NOT NULL
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""  # noqa: S608 - a directory of ours
    found = duckdb.sql(query).fetchall()
    assert found == wanted
    assert {row[:2] for row in found} == {
        (c, m) for c in ("other", "storages") for m in ("2026-09", "2026-10")
    }
    # A month is a directory: what is asked of one opens no other.
    ((n_september,),) = duckdb.sql(f"SELECT count(*) FROM {of('results')} WHERE month = '2026-09'").fetchall()  # noqa: S608 - as above
    assert n_september == sum(one.created_at.startswith("2026-09") for one in made)


def test_what_is_stored_during_an_export_is_in_none_of_its_tables(tmp_path, monkeypatch):
    first, second = (Made(seed=seed, n_samples=2, n_runs=1).results() for seed in (1, 2))
    with Store.open(tmp_path / "lab.db") as opened:
        for result in first:
            opened.put(result)
        rows = Store.rows

        def stored_meanwhile(store, where, names):
            found = rows(store, where, names)
            for result in second:
                opened.put(result)
            return found

        monkeypatch.setattr(Store, "rows", stored_meanwhile)
        counts = export_directory(opened, None, tmp_path / "out")
    assert counts["results"] == counts["documents"] == len(first)
    assert {path.name for path in tmp_path.glob("out/*/*")} == {"campaign=storages"}


HOSTILE = ResultTable(
    "A \x1b[31mtitle",
    (Column("name", "name"), Column("wall_ns", "wall", "time"), Column("why", "why")),
    (("a|b\n", 1, "x" * 300), ("\x1b]0;owned\x07", None, "y\tz")),
    ("a note\r",),
)


def test_no_face_lets_a_text_move_the_cursor():
    for told in (writing.text(HOSTILE), writing.markdown(HOSTILE)):
        assert not any(char in told for char in "\x1b\x07\r\t")
    assert "a\\|b" in writing.markdown(HOSTILE)
    assert len(writing.text(HOSTILE).splitlines()) == 2 + 4 + 2
    assert "\x1b" not in writing.as_json([HOSTILE])


def test_values_that_are_equal_and_not_the_same_are_told_apart():
    table = ResultTable("", (Column("told", "told"),), ((1,), (True,), (1.0,), (1,)), ())
    assert writing.markdown(table).splitlines()[2:] == ["| 1 |", "| yes |", "| 1.0 |", "| 1 |"]


FORMS = st.sampled_from(["text", "key", "time", "bytes", "count", "ratio", "share", "date"])

NAMES = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=60)


@given(st.data())
def test_a_table_fits_its_width_and_loses_no_row(data):
    forms = data.draw(st.lists(FORMS, min_size=1, max_size=14))
    columns = tuple(Column(f"c{n}", data.draw(NAMES)[:12] or "x", form) for n, form in enumerate(forms))
    cell = {"text": NAMES, "key": NAMES, "date": st.just("2026-10-01T04:01:13.000Z")}
    rows = tuple(
        tuple(data.draw(st.none() | cell.get(form, st.integers(0, 2**62))) for form in forms)
        for _ in range(3)
    )
    told = writing.text(ResultTable("t", columns, rows), 80)
    n_leading = next((n for n, form in enumerate(forms) if form not in ("text", "key")), len(forms))
    if n_leading <= 4:
        assert max(map(len, told.splitlines())) <= 80
    if forms == ["text", "text"]:  # its values go on in the next line
        return
    n_blocks, rest = divmod(
        told.count("\n") - 2 + 1, 2 + len(rows) + 1
    )  # titles, rules, rows and an empty line
    assert n_blocks >= 1
    assert rest == 0


def test_names_are_cut_in_no_block_if_they_leave_room_for_what_is_told_of_them():
    columns = (Column("verdict", "verdict"), Column("workload", "workload"), Column("site", "site"))
    columns += tuple(Column(f"c{n}", "figure no", "count") for n in range(6))
    rows = tuple((verdict, "2 % of branches", "GLASGOW", *range(6)) for verdict in ("worse", "no difference"))
    told = writing.text(ResultTable("t", columns, rows))
    assert "\N{HORIZONTAL ELLIPSIS}" not in told
    assert told.count("no difference  2 % of branches  GLASGOW") == 2
    assert max(map(len, told.splitlines())) <= 80
    # Names that take it all are cut, alike in each block.
    rows = tuple(
        (verdict, "2 % of branches" * 9, "GLASGOW", *range(6)) for verdict in ("worse", "no difference")
    )
    told = writing.text(ResultTable("t", columns, rows))
    assert max(map(len, told.splitlines())) <= 80
    lines = [line for line in told.splitlines() if line.startswith("worse")]
    assert len({line.partition("GLASGOW")[0] for line in lines}) == 1 < len(lines)


def test_the_value_of_a_key_is_never_cut():
    command = "arrowroot lab run campaigns/storages.toml " + " ".join(f"--case {n:016x}" for n in range(9))
    table = ResultTable(
        "Result", (Column("key", "key"), Column("value", "value")), (("again", command), ("site", "here"))
    )
    told = writing.text(table)
    assert max(map(len, told.splitlines())) <= 80
    assert command in " ".join(told.split())
    assert told.splitlines()[-1].split() == ["site", "here"]


FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1+1", "=cmd|' /C calc'!A0"]

TEXTS = ["a=b", "-5", "+1.5e3", "-.5", "", "'=1", "ü", "1-2"]


def test_csv_has_no_text_that_a_spreadsheet_takes_for_a_formula(tmp_path):
    columns = (Column("text", "Text", "text"), Column("=key", "Number"))
    table = ResultTable(
        "t", columns, tuple((text, -number) for number, text in enumerate([*FORMULAS, *TEXTS]))
    )
    head, *rows = csv.reader(io.StringIO(writing.as_csv(table)))
    assert head == ["text", "'=key"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *TEXTS]
    assert [int(row[1]) for row in rows] == [-number for number in range(len(rows))]
    made = [
        replace(one, campaign={**one.campaign, "name": name})
        for one, name in zip(Made(n_samples=1).results(), filter(None, [*FORMULAS, *TEXTS]), strict=False)
    ]
    with Store.open(tmp_path / "lab.db") as opened:
        for result in made:
            opened.put(result)
        export(opened, None, tmp_path / "out.csv", "results")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        found = {row["uuid"]: row["campaign"] for row in csv.DictReader(file)}
    for one in made:
        name = one.campaign["name"]
        assert found[one.uuid] == (f"'{name}" if name in FORMULAS else name)


def test_a_campaign_of_any_name_is_exported_and_no_two_into_one_directory(tmp_path):
    names = ["П" * 42, "П" * 200, "П" * 199 + "Я", "a/b c%2F=", "…" * 60, "x" * 200, "日本", "1", "0"]
    made = [
        replace(one, campaign={**one.campaign, "name": name})
        for one, name in zip([*Made(n_samples=1).results()][:1] * len(names), names, strict=False)
    ]
    made = [replace(one, uuid=f"{one.uuid[:-2]}{number:02x}") for number, one in enumerate(made)]
    with Store.open(tmp_path / "lab.db") as opened:
        for result in made:
            opened.put(result)
        export_directory(opened, None, tmp_path / "out")
        export_directory(opened, None, tmp_path / "out")
    found = pyarrow.dataset.dataset(tmp_path / "out" / "results", partitioning="hive").to_table()
    by_uuid = dict(zip(found["uuid"].to_pylist(), found["campaign"].to_pylist(), strict=True))
    told = [by_uuid[one.uuid] for one in made]
    assert len(set(told)) == len(names)
    for one, name in zip(told, names, strict=True):
        assert one == name or (len(name) > 40 and one.startswith(name[:20]) and "~" in one)
    assert told[0] == names[0]
    assert all(len(os.fsencode(path.name)) <= 255 for path in (tmp_path / "out").rglob("*"))
