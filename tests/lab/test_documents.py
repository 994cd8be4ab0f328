"""Documents: all of a result is in them, past and later forms are read, and bad ones are refused with the key."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pyarrow as pa
import pytest

from arrowroot_lab.documents import FORM_VERSION, Result, Sample, decode, encode, from_json, in_utc, to_json
from arrowroot_lab.errors import DocumentError
from arrowroot_lab.store import Store
from tests.lab.made import FORMS, Made

RESULTS = Made().results()


def test_every_form_has_an_example_and_the_newest_one_has_every_key():
    newest = json.loads(FORMS[-1].read_text())
    assert {field.name for field in fields(Result)} - {"others"} == set(newest) - {"form", "version"}
    of_samples = {key for sample in newest["samples"] for key in sample}
    assert {field.name for field in fields(Sample)} - {"others"} == of_samples
    assert [json.loads(path.read_text())["version"] for path in FORMS] == list(range(1, FORM_VERSION + 1))


@pytest.mark.parametrize("result", RESULTS[:30], ids=lambda one: one.outcome.value)
def test_document_says_all_of_a_result(result):
    assert decode(encode(result)) == result
    assert from_json(json.loads(json.dumps(to_json(result)))) == result


@pytest.mark.parametrize(
    ("engine", "versions", "told"),
    [
        ("root-rntuple", {"ROOT": "6.40.00", "python": "3.11.7", "root": "0.1a12"}, "6.40.00"),
        ("root", {"root": "0.1a12", "ROOT": "6.40.00"}, "6.40.00"),
        ("arrowroot", {"arrowroot": "0123456789abcdef" + 24 * "a", "numpy": "2.4.6"}, "0123456789ab"),
        ("arrowroot", {"arrowroot": "0.1.0", "commit": 40 * "a"}, "0.1.0"),
        ("mine", {"engine": "7", "mine": "8"}, "7"),
        ("mine", {"b": "2", "a": "1"}, "a 1, b 2"),
    ],
)
def test_the_version_is_the_one_that_people_call_it(engine, versions, told):
    result = replace(RESULTS[0], versions=versions, case={**RESULTS[0].case, "engine": engine})
    assert result.version == told


BAD = [
    ("samples[0].wall_ns", -1, "integer of at least 0, found -1"),
    ("samples[0].wall_ns", 1.5, "integer of at least 0"),
    ("samples[0].wall_ns", True, "integer of at least 0"),
    ("samples[0].cpu_ns", 2**63, "64 bits"),
    ("samples[0].outcome", "fine", "expected one of ok, failed, timed out, skipped, refused, found 'fine'"),
    ("samples[0].started_at", "yesterday", "a time with its zone"),
    ("samples[0].started_at", "2026-01-01T00:00:00", "a time with its zone"),
    ("samples[0].counters.store.n_reads", "7", "integer"),
    ("samples[0].counters", {"my.store": {"n_reads": 7}}, "layers without dots"),
    ("samples[0].counters", {"": {"n_reads": 7}}, "layers without dots, and names"),
    ("samples[0].counters", {"store": {"": 7}}, "layers without dots, and names"),
    ("samples[0].control_ns", [1], "two times"),
    ("samples[0].readings", [], "expected an object"),
    ("samples", {}, "expected a list"),
    ("uuid", "1", "a UUID"),
    ("uuid", "51F0C2AA-0000-4000-8000-000000000000", "a UUID in lower case"),
    ("site", "", "1 to 200 characters"),
    ("site", "x" * 201, "1 to 200 characters"),
    ("site", "a\0b", "NUL"),
    ("site", "a\ud800b", "half a character"),
    ("form", "something else", "expected 'arrowroot-lab/result'"),
    ("version", 0, "integer of at least 1"),
    ("case.engine", None, "1 to 200 characters|expected text"),
    ("case.storage", "local", "expected an object"),
    ("case.storage.kind", 7, "expected text"),
    ("case.threads", 0, "integer of at least 1"),
    ("campaign.name", None, "expected text"),
    ("dataset.n_entries", -1, "integer of at least 0"),
    ("versions.engine", 6.4, "expected text"),
    ("line.latency_before_ns", "fast", "expected a number"),
    ("command", "rm", "expected a list"),
    ("version", 2**31, "at most 2147483647"),
    ("case.threads", 2**31, "at most 2147483647"),
    ("case.workers", 2**31, "at most 2147483647"),
    ("case.storage.line", {"latency_ns": "far"}, "expected a number"),
    ("case.storage.cache", 1, "expected text"),
    ("case.workload.kind", "", "1 to 200 characters"),
    ("case.workload.columns", 5, "expected a list"),
    ("case.workload.work_ns_per_entry", "x", "expected a number"),
    ("created_at", "0001-01-01T00:00:00+14:00", "of 1970 to 2261"),
    ("created_at", "9999-12-31T23:59:59-14:00", "of 1970 to 2261"),
    ("created_at", "2026-W05-6T12:00:00.000Z", "a time with its zone"),
    ("created_at", "20260131T120000Z", "a time with its zone"),
    ("samples[0].started_at", "0001-01-01T00:00:00+14:00", "of 1970 to 2261"),
    ("samples[0].details", {"n_entries": "all"}, "integer of at least 0"),
    ("samples[0].details", {"open_ns": "x"}, "expected a number"),
    ("checksum", {"run": "x"}, "expected an object"),
    ("predictions", [{"wall_ns": "x"}], "integer of at least 0"),
    ("predictions", [{"wall_ns": 1, "error_share": "x"}], "expected a number"),
    ("reads", {"entries": 5}, "expected a list"),
    ("reads", {"entries": [None, "x"]}, "integer of at least 0"),
    ("reads", {"offsets": [None]}, "integer of at least 0"),
    ("reads", {"n_reads": []}, "integer of at least 0"),
    ("outcome", None, "missing"),
    ("case", None, "missing|object"),
]


@pytest.mark.parametrize(
    ("key", "value", "problem"), BAD, ids=[f"{key}={value!r:.20}" for key, value, _ in BAD]
)
def test_bad_document_is_refused_with_the_key(key, value, problem):
    document = to_json(next(result for result in RESULTS if result.samples))
    document = json.loads(json.dumps(document))
    place = document
    *parents, last = key.replace("[0]", ".0").split(".")
    for parent in parents:
        place = place[int(parent) if parent == "0" else parent]
    place[last] = value
    with pytest.raises(DocumentError, match=problem) as raised:
        from_json(document)
    assert raised.value.key.startswith(key)
    assert key in str(raised.value)


def test_cores_are_counted_in_32_bits():
    document = json.loads(encode(RESULTS[0]))
    document["case"] |= {"threads": 2**16, "workers": 2**15 - 1}
    assert from_json(document).case["threads"] == 2**16
    document["case"]["workers"] = 2**15
    with pytest.raises(DocumentError, match=r"case\.workers: expected an integer of at most 32767"):
        from_json(document)


@pytest.mark.parametrize(
    ("date", "told"),
    [
        ("2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.000Z"),
        ("2026-01-31 13:00:00+01:00", "2026-01-31T12:00:00.000Z"),
        ("1970-01-01T00:00:00+14:00", "1969-12-31T10:00:00.000Z"),
        ("2261-12-31T23:59:59.123-14:00", "2262-01-01T13:59:59.123Z"),
    ],
)
def test_dates_that_are_taken_sort_as_text_and_are_times_in_ns(date, told):
    result = from_json(json.loads(encode(RESULTS[0])) | {"created_at": date})
    assert in_utc(result.created_at) == told
    pa.array([told]).cast(pa.timestamp("ns", "UTC"))


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"{", "JSON"),
        (b"[]", "expected an object"),
        (b"{}", "form: expected"),
        (b'{"form": NaN}', "NaN is not a number"),
        (b'{"form": 1e999}', "finite"),
        (b'{"form": 1, "form": 2}', "twice"),
        (b"[" * 100_000, "nested deeper|JSON"),
        (b'{"a":' * 60 + b"1" + b"}" * 60, "nested deeper than 40"),
        (b"1" * 10_000, "digits|64 bits"),
        (b" " * (64 * 2**20 + 1), "at most 67,108,864 bytes"),
    ],
    ids=range(11),
)  # fmt: skip
def test_bytes_that_are_no_document_are_refused(told, problem, tmp_path):
    with pytest.raises(DocumentError, match=problem):
        decode(told)
    with Store.open(tmp_path / "lab.db") as store, pytest.raises(DocumentError):
        store.put_document(told)


def test_document_of_a_later_form_is_read_and_what_is_new_kept():
    document = to_json(next(result for result in RESULTS if result.samples))
    document = json.loads(json.dumps(document))
    document |= {"version": 2, "weather": "fair", "others": 1}
    document["samples"][0] |= {"mood": ["good"]}
    document["case"] |= {"colour": "red"}
    result = from_json(document)
    assert result.others == {"weather": "fair", "others": 1}
    assert result.samples[0].others == {"mood": ["good"]}
    again = to_json(result)
    assert {key: again[key] for key in document if key != "version"} == {
        key: value for key, value in document.items() if key != "version"
    }


def test_names_for_people_are_in_no_key():
    one = RESULTS[0]
    renamed = replace(
        one, case={**one.case, "storage_name": "another", "dataset_name": "x", "workload_name": "y"}
    )
    assert (renamed.case_id, renamed.series_id) == (one.case_id, one.series_id)
    other = replace(one, case={**one.case, "threads": 2})
    assert other.case_id != one.case_id
