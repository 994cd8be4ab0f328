"""Documents: all of a result is in them, past and later forms are read, and bad ones are refused with the key."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace

import pyarrow as pa
import pytest

from arrowroot_lab.documents import FORM_VERSION, Result, Sample, decode, encode, from_json, in_utc, to_json
from arrowroot_lab.errors import DocumentError
from arrowroot_lab.store import Store
from tests.lab.made import FORMS, Made
from tests.recorded import session

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


def test_what_is_no_document_is_refused_with_the_key(tmp_path):
    good = json.loads(json.dumps(to_json(next(result for result in RESULTS if result.samples))))

    def changed(key, value):
        document = place = copy.deepcopy(good)
        *parents, last = key.replace("[0]", ".0").split(".")
        for parent in parents:
            place = place[int(parent) if parent == "0" else parent]
        place[last] = value
        with pytest.raises(DocumentError) as caught:
            from_json(document)
        assert caught.value.key.startswith(key)
        return f"{caught.value.key}: {caught.value}"

    def stored(content):
        with pytest.raises(DocumentError) as caught:
            decode(content)
        with Store.open("lab.db") as store, pytest.raises(DocumentError):
            store.put_document(content)
        raise caught.value

    session("documents", tmp_path, {"changed": changed, "stored": stored})


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
