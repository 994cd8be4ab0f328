"""CMS job reports: what is written is read back, what CMS wrote is understood, hostile files are errors."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrowroot import Account, CorruptFileError, InvalidRequestError
from arrowroot._report import fjr
from arrowroot.cli import main
from tests.recorded import session

FIXTURES = Path(__file__).parents[1] / "fixtures" / "fjr"
SOURCE = Path(__file__).resolve().parents[3] / "shared" / "sources" / "000_c366fb45f79b31d1.txt"

counts = st.integers(0, 2**53)
milliseconds = st.integers(0, 2**53).map(lambda ns: ns / 1e6)
names = st.text(min_size=1, max_size=20).filter(
    # What XML 1.0 has letters for, and does not change between writing and reading.
    lambda text: all(c.isprintable() and c not in "\ufffe\uffff" for c in text)
)


@given(
    st.lists(
        st.builds(
            fjr.Counter,
            names,
            names,
            counts,
            counts,
            counts.map(lambda n: n / fjr.MEBIBYTE),
            milliseconds,
            milliseconds,
            milliseconds,
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_report_is_read_back_exactly(tmp_path_factory, counters):
    path = tmp_path_factory.mktemp("fjr") / "report.xml"
    path.write_text(fjr.document(counters, url="root://host//a&b<c>.root", n_entries=7), encoding="utf-8")
    (report,) = fjr.read(path)
    assert report.counters == counters


def test_bytes_are_of_binary_megabytes_and_exact():
    account = Account("store", "read", 3, 2, 1_000_003, 5_000_000, 1_000_000, 2_500_001)
    (counter,) = fjr.counters_of([account], [], "root://host//f.root")
    assert counter.path == "root/read"
    assert counter.bytes == 1_000_003
    assert counter.mean_bytes == 1_000_003 / 2
    assert counter.mean_ms == pytest.approx(5 / 3)
    assert counter.bytes_per_s == pytest.approx(1_000_003 / 0.005)


def test_layers_go_by_the_names_of_cms():
    def account(layer, operation):
        return Account(layer, operation, 1, 1, 10, 10, 10, 10)

    counters = fjr.counters_of(
        [account("store", "open"), account("store", "readv"), account("store", "stage-in")],
        [
            account("engine", "read"),
            account("engine", "cache-hit"),
            account("store", "read"),
            account("store", "readv"),
            account("lazy-download", "stage-in"),
        ],
        "/data/f.root",
    )
    assert [counter.path for counter in counters] == [
        "file/open",
        "file/readv",
        "file/stagein",
        "lazy-download/stagein",
        "tstoragefile/read",
        "tstoragefile/read-via-cache",
        "tstoragefile/read-actual",
        "tstoragefile/readv-actual",
    ]


def test_reports_of_newer_cmssw_are_lists_of_metrics():
    (report,) = fjr.read(FIXTURES / "metrics.xml")
    first, second = report.counters
    assert first == fjr.Counter("root", "readv", 12, 11, 96.25, 1203.5, 6.5e-05, 404)
    assert second.path == "local-cache/readActual"


@pytest.mark.skipif(not SOURCE.exists(), reason=f"NO SOURCES at {SOURCE}: a page with reports is NOT read")
def test_a_page_with_reports_in_its_text_is_read():
    reports = fjr.read(SOURCE)
    assert len(reports) == 7
    read = reports[0].find("rfio/read")
    assert (read.n_operations, read.megabytes, read.total_ms) == (22416, 805.87, 71747.1)
    # One of them has lost its beginning.
    assert [len(report.counters) for report in reports] == [9, 7, 9, 8, 7, 4, 6]
    told = [None if report.times is None else report.times.real_s for report in reports]
    assert told[:2] == pytest.approx([713.148, 838.683])
    assert reports[0].times == pytest.approx((713.148, 605.383, 17.628))
    assert told.count(674.95) == told.count(725.73) == told.count(664.7) == 1


GOOD = (
    "<counter-value subsystem='rfio' counter-name='read' num-operations='1' num-successful-operations='1' "
    "total-megabytes='1' total-msecs='1' min-msecs='1' max-msecs='1'/>"
)
SUMMARY = f"<storage-timing-summary>\n{GOOD}\n</storage-timing-summary>\n"


def timed(seconds):
    return f"real\t1m{seconds}s\nuser {seconds:.2f}\n sys    {seconds}s \n"


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (f"{timed(1)}{SUMMARY}{timed(2)}{SUMMARY}{SUMMARY}", [1, 2, None]),
        (f"{SUMMARY}{timed(1)}{SUMMARY}{SUMMARY}{timed(3)}", [1, None, 3]),
        (f"{timed(7)}{timed(1)}{SUMMARY}{SUMMARY}".replace("\n", "\r\n"), [1, None]),
        (f"real 1m2s\nuser 3\n{SUMMARY}", [None]),
        (f"unreal 1m2s\nuser 3\nsys 4\n{SUMMARY}", [None]),
        (f"real {'9' * 400}m1s\nuser 1s\nsys 1s\n{SUMMARY}", [None]),
    ],
    ids=["before", "behind", "lines of Windows", "two of three", "another word", "digits"],
)
def test_times_of_a_job_are_passed_on_with_its_summary(tmp_path, capsys, text, times):
    path = tmp_path / "job.log"
    path.write_bytes(f"cmsRun\n{text}".encode())
    wanted = [None if one is None else fjr.Times(60 + one, one, one) for one in times]
    assert [report.times for report in fjr.read(path)] == wanted
    assert main(["fjr", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["reports"]
    assert [one["job"] for one in told] == [None if one is None else one._asdict() for one in wanted]
    assert main(["fjr", str(path)]) == 0
    assert capsys.readouterr().out.count("job: real 1.02 min, user 1.00 s, sys 1.00 s") == times.count(1)


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    f'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><x>&c;{GOOD}</x>'
)


def read(content):
    Path("report.xml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return fjr.read("report.xml")


def test_what_is_no_report_or_takes_much_memory_or_time_is_an_error_that_names_the_file(tmp_path):
    session("job-reports", tmp_path, globals())


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(fjr, "_MAX_BYTES", 100)
    path = tmp_path / "report.xml"
    path.write_text("<a>" + GOOD + "</a>")
    with pytest.raises(InvalidRequestError, match="more than"):
        fjr.read(path)


def test_too_many_counters_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(fjr, "_MAX_COUNTERS", 3)
    for text in (f"<a>{GOOD * 4}</a>", "log " + GOOD * 4):
        path = tmp_path / "report.xml"
        path.write_text(text)
        with pytest.raises(CorruptFileError, match="more than 3 counters"):
            fjr.read(path)


@pytest.mark.parametrize("encoding", ["no-such-encoding", "utf-7", "rot13", "UTF-16"])
def test_the_encoding_that_a_report_names_does_not_count(tmp_path, encoding):
    path = tmp_path / "report.xml"
    path.write_text(f"<?xml version='1.0' encoding='{encoding}'?><a>{GOOD.replace('rfio', 'é')}</a>", "utf-8")
    assert fjr.read(path)[0].counters[0].path == "é/read"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_an_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fjr") / "report.xml"
    path.write_bytes(b"<a>" + GOOD.encode() + content + b"</a>")
    try:
        reports = fjr.read(path)
    except CorruptFileError:
        return
    assert reports[0].counters[0].path == "rfio/read"


def test_the_command_prints_the_table_and_json(arrowroot_command):
    wide = {**os.environ, "COLUMNS": "200"}
    out = arrowroot_command("fjr", FIXTURES / "cern-improved.xml", env=wide).stdout
    line = next(line for line in out.splitlines() if line.startswith("rfio") and " read " in line)
    assert (
        " ".join(line.split())
        == "rfio read 22,416 22,416 805.87 1.20 min 5.12 µs 678 ms 37.7 kB 3.20 ms 11.8 MB/s"
    )
    document = json.loads(arrowroot_command("fjr", FIXTURES / "cern-improved.xml", "--json").stdout)
    assert document["form"] == "arrowroot.fjr/1"
    (report,) = document["reports"]
    counter = next(c for c in report["counters"] if c["name"] == "read-via-cache")
    assert (counter["n_operations"], counter["n_successful"]) == (59856, 55830)
    assert arrowroot_command("fjr", __file__, check=False).returncode == 1


def test_perf_writes_a_report_that_the_command_reads(sample, tmp_path, arrowroot_command):
    path = tmp_path / "report.xml"
    document = json.loads(arrowroot_command("perf", sample[0], "--fjr", path, "--json").stdout)
    (report,) = fjr.read(path)
    (read,) = [account for account in document["accounts"]["scan"] if account["layer"] == "engine"]
    counter = report.find("tstoragefile/read")
    assert counter.n_operations == read["n_attempted"] == document["first"]["read_calls"]
    assert counter.bytes == read["bytes"]
    assert "tstoragefile" in arrowroot_command("fjr", path).stdout
    done = arrowroot_command("perf", sample[0], "--fjr", tmp_path / "no" / "r.xml", check=False)
    assert (done.returncode, "no such directory" in done.stderr) == (2, True)


def test_a_rate_has_a_time_behind_it():
    def rate(total_ms):
        return fjr.Counter("file", "read", 1, 1, 1.0, total_ms, 0.0, total_ms).bytes_per_s

    assert rate(0.0) is None
    assert rate(1e-6) is None
    assert rate(1.0) == fjr.MEBIBYTE * 1000
