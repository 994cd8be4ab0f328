"""Results of other machines: merged by their UUIDs, twice is once, and what is hostile is refused with its place."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrowroot_lab.cli import main
from arrowroot_lab.documents import MAX_BYTES, encode
from arrowroot_lab.errors import LabError, StoreError
from arrowroot_lab.store import Store, merging, summary_of
from arrowroot_lab.store.merging import FoundDocument, Merged, merge
from tests.lab.made import Made

RESULTS = Made(n_runs=1, site="there").results()
OWN = Made(seed=2, n_runs=1, engines=("root",)).results()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Two databases, which are copied: that of another machine, and our own."""
    directory = tmp_path_factory.mktemp("filled")
    for name, results in (("there", RESULTS), ("here", OWN)):
        with Store.open(directory / f"{name}.db") as store:
            for result in results:
                store.put(result)
    return directory


@pytest.fixture
def there(tmp_path, filled):
    return Path(shutil.copy(filled / "there.db", tmp_path))


@pytest.fixture
def here(tmp_path, filled):
    with Store.open(Path(shutil.copy(filled / "here.db", tmp_path))) as store:
        yield store


def told(merged):
    return merged.n_new, merged.n_known, len(merged.refused)


def test_an_exported_directory_is_imported_once_and_its_documents_are_the_same(tmp_path, there, here, capsys):
    out = tmp_path / "out"
    assert main(["export", f"{out}/", "--db", str(there)]) == 0
    assert told(merge(here, str(out))) == (len(RESULTS), 0, 0)
    assert told(merge(here, str(out))) == (0, len(RESULTS), 0)
    with Store.open(there, must_exist=True) as other:
        for result in RESULTS:
            assert here.document(result.uuid) == other.document(result.uuid)
    assert here.count() == len(RESULTS) + len(OWN)
    capsys.readouterr()
    assert main(["import", str(out), str(there), "--db", here.place, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(one["n_new"], one["n_known"], one["refused"]) for one in document["sources"]] == [
        (0, len(RESULTS), [])
    ] * 2


def test_databases_and_documents_are_imported(tmp_path, there, here):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "one.json").write_text(encode(RESULTS[0]))
    (documents / "more.jsonl").write_text("\n".join(map(encode, RESULTS[:3])) + "\n")
    assert told(merge(here, str(documents))) == (3, 1, 0)
    assert told(merge(here, str(there))) == (len(RESULTS) - 3, 3, 0)


def test_a_postgresql_store_is_imported_and_imports(schema, there, here):
    with Store.open(schema) as store:
        assert told(merge(store, str(there))) == (len(RESULTS), 0, 0)
    assert told(merge(here, schema)) == (len(RESULTS), 0, 0)


def test_what_is_hostile_is_refused_with_its_place_and_hinders_no_other(tmp_path, here, capsys):
    place = tmp_path / "documents"
    place.mkdir()
    good = encode(RESULTS[0])
    changed = json.loads(good) | {"site": "elsewhere"}
    wrong = json.loads(encode(RESULTS[1]))
    wrong["samples"][0]["wall_ns"] = "1; DROP TABLE result"
    (place / "a good.json").write_text(good)
    (place / "b other.json").write_text(json.dumps(changed))
    (place / "c wrong.json").write_text(json.dumps(wrong))
    (place / "d cut.json").write_text(good[:-10])
    (place / "e deep.json").write_text("[" * 100_000)
    with (place / "f large.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    (place / "g lines.jsonl").write_bytes(b"\xff\xfe\n" + encode(RESULTS[2]).encode() + b"\n")
    (place / "h cut.parquet").write_bytes(b"PAR1 and no more")
    pq.write_table(pa.table({"document": [1, 2]}), place / "i numbers.parquet")
    pq.write_table(pa.table({"document": [None, encode(RESULTS[3])]}), place / "j.parquet")
    (place / "results").mkdir()  # the other tables of an export are no documents
    (place / "results" / "x.json").write_text("{}")
    assert main(["import", str(place), "--db", here.place, "--json"]) == 1
    (source,) = json.loads(capsys.readouterr().out)["sources"]
    assert source["n_new"] == 3
    refused = {one["place"].removeprefix(f"{place}/"): one["problem"] for one in source["refused"]}
    assert sorted(refused) == [
        "b other.json", "c wrong.json", "d cut.json", "e deep.json", "f large.json", "g lines.jsonl:1",
        "h cut.parquet", "i numbers.parquet", "j.parquet: row 0",
    ]  # fmt: skip
    assert "another document with this UUID" in refused["b other.json"]
    assert "samples[0].wall_ns" in refused["c wrong.json"]
    assert here.document(RESULTS[0].uuid) == good
    assert main(["import", str(place), "--db", here.place]) == 1
    out, err = capsys.readouterr()
    assert "0 new, 3 known, 9 refused" in out
    assert err.count("refused: ") == 9


def test_what_is_no_source_is_said(tmp_path, here, capsys):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE users (name TEXT)")
    with pytest.raises(StoreError, match="another program's"):
        merge(here, str(other))
    (tmp_path / "empty").mkdir()
    for source in ("nowhere", str(tmp_path / "empty"), "mysql://host/name"):
        assert main(["import", source, "--db", here.place]) == 2
        assert "arrowroot lab: " in capsys.readouterr().err
    assert here.count() == len(OWN)


def test_passwords_of_a_source_are_not_shown(here, capsys, monkeypatch):
    monkeypatch.setattr(merging, "_documents", lambda _: iter([FoundDocument("one", None, "it is missing")]))
    for place in ("postgresql://lab:SECRET@host/lab", "postgresql://lab@host/lab?password=SECRET"):
        for options in ([], ["--json"]):
            assert main(["import", place, "--db", here.place, *options]) == 1
            said = "".join(capsys.readouterr())
            assert "postgresql://host/lab" in said
            assert "SECRET" not in said


def test_links_and_what_may_never_end_are_not_read(tmp_path, here):
    place, elsewhere = tmp_path / "documents", tmp_path / "elsewhere.json"
    place.mkdir()
    elsewhere.write_text(encode(RESULTS[0]))
    (place / "a.json").symlink_to(elsewhere)
    (place / "b.json").symlink_to("/dev/zero")
    (place / "c.jsonl").symlink_to("nowhere.jsonl")
    os.mkfifo(place / "d.json")
    (place / "e.json").write_text(encode(RESULTS[1]))
    merged = merge(here, str(place))
    assert told(merged) == (1, 0, 4)
    assert {one.problem for one in merged.refused} == {"expected a file; links are not followed"}


def test_a_document_that_nobody_foresaw_hinders_no_other(tmp_path, here, monkeypatch):
    def taken(result, *_):
        if result.uuid == RESULTS[1].uuid:
            raise OverflowError("too large")
        return summary_of(result)

    monkeypatch.setattr("arrowroot_lab.store.store.summary_of", taken)
    (tmp_path / "all.jsonl").write_text("\n".join(map(encode, RESULTS[:3])))
    merged = merge(here, str(tmp_path / "all.jsonl"))
    assert told(merged) == (2, 0, 1)
    assert merged.refused[0].place.endswith("all.jsonl:2")
    assert "OverflowError: too large" in merged.refused[0].problem


def test_what_a_server_cannot_hold_hinders_no_other(tmp_path, schema):
    large = json.loads(encode(RESULTS[1]))
    large["samples"][0]["counters"] = {
        "store": {os.urandom(6000).hex(): 1}
    }  # no index of PostgreSQL has so much
    texts = [encode(RESULTS[0]), json.dumps(large), encode(RESULTS[2])]
    (tmp_path / "all.jsonl").write_text("\n".join(texts))
    with Store.open(schema) as store:
        merged = merge(store, str(tmp_path / "all.jsonl"))
    assert told(merged) == (2, 0, 1)
    assert "index row" in merged.refused[0].problem


def _change(path, statements):
    """Change the database of a laboratory, as somebody else would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x"
COLUMNS = ", ".join(f"'0005' AS {column}" for column in ("version_num", "id", "uuid", "created_at"))
TRIGGER = (
    f"CREATE TRIGGER t AFTER UPDATE ON result BEGIN INSERT INTO newest {ENDLESS}, 1, 1, 1, 1, 1 FROM c; END"
)


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (
            ["ALTER TABLE result RENAME TO other", f"CREATE VIEW result AS {ENDLESS} AS id FROM c"],
            "has a view 'result'",
        ),
        (
            ["DROP TABLE arrowroot_lab_version", f"CREATE VIEW arrowroot_lab_version AS SELECT {COLUMNS}"],
            "has a view",
        ),
        (
            ["DROP TABLE document", f"CREATE VIEW document AS {ENDLESS} AS result_id, 'x' AS text FROM c"],
            "has a view",
        ),
        ([TRIGGER, "UPDATE arrowroot_lab_version SET version_num = '0003'"], "has a trigger 't'"),
        (["UPDATE arrowroot_lab_version SET version_num = '0000'"], "cannot be brought up to date"),
        (["UPDATE arrowroot_lab_version SET version_num = x'00ff'"], "of a newer laboratory"),
        (["INSERT INTO arrowroot_lab_version VALUES ('0001')"], "the database says"),
        (["DROP TABLE result"], "a table or column is missing"),
    ],
)
def test_a_database_that_is_not_the_laboratorys_is_refused_as_a_whole(there, here, statements, problem):
    _change(there, statements)
    with pytest.raises(StoreError, match=problem) as caught:
        merge(here, str(there))
    assert str(there) in str(caught.value)
    assert here.count() == len(OWN)


def test_rows_that_cannot_be_read_hinder_no_other(there, here):
    cells = ("CAST(x'ff22' AS TEXT)", "zeroblob(70000000)", "17", "NULL", "x'00ff'", "'[' || text", "uuid")
    document = "UPDATE OR IGNORE document SET text = {} WHERE result_id = {}"
    statements = [document.format(cell, n) for n, cell in enumerate(cells[:-1], 1)]
    statements[3] = "UPDATE document SET text = '' WHERE result_id = 4"
    _change(
        there, [*statements, "UPDATE result SET created_at = 5, stored_at = x'00', uuid = 7 WHERE id = 7"]
    )
    merged = merge(here, str(there))
    n_refused = len(cells) - 1
    assert told(merged) == (len(RESULTS) - n_refused, 0, n_refused)
    assert all(str(there) in one.place for one in merged.refused)


@pytest.mark.parametrize("seed", range(12))
def test_damaged_pages_end_in_one_sentence(tmp_path, there, here, seed):
    content = bytearray(there.read_bytes())
    draw = random.Random(seed)
    for _ in range(draw.choice((1, 20, 400))):
        content[draw.randrange(100 if draw.random() < 0.3 else len(content))] = draw.randrange(256)
    path = tmp_path / "damaged.db"
    path.write_bytes(content[: draw.choice((len(content), len(content) // 2, 50))])
    try:
        merged, said = merge(here, str(path)), str(path)
    except LabError as error:
        merged, said = Merged(), str(error)
    assert merged.n <= len(RESULTS)
    assert str(path) in said
    assert here.count() == len(OWN) + merged.n_new
