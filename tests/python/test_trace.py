"""Traces: what perf writes is what the scan did, and what is no trace is an error."""

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowroot as ar
from arrowroot import CorruptFileError, InvalidRequestError, StorageError, _native
from arrowroot._cost.plan import LogicalRead, PhysicalRead
from arrowroot._report import trace
from arrowroot._saving import checksum
from tests.recorded import session

LOGICAL = [
    LogicalRead(100, 50, 0, "pt", 10, 1_000),
    LogicalRead(150, 30, 0, "eta", 12, 2_000),
    LogicalRead(400, 70, 500, "pt", 90, 3_000),
]
PHYSICAL = [
    PhysicalRead("readv", 0, 100, 80, 5, 50),
    PhysicalRead("readv", 0, 400, 70, 5, 50),
    PhysicalRead("read", 0, 900, 10, 60, 70),
]
METADATA = {
    "file_bytes": 1000, "n_threads": 2, "url": "f.root", "tree": "T",
    "protocol": {"name": "http", "max_ranges": 200, "max_parallel": 8},
}  # fmt: skip


@pytest.mark.parametrize("suffix", trace.SUFFIXES)
def test_a_trace_is_read_back(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    trace.write(path, trace.table(LOGICAL, PHYSICAL, METADATA))
    log = trace.read(path)
    assert log.metadata["form"] == trace.FORM
    assert (log.file_bytes, log.n_threads, log.payload_bytes) == (1000, 2, 150)
    assert log.protocol == _native.Protocol("http", max_ranges=200, max_parallel=8)
    assert log.logical.offsets.tolist() == [100, 150, 400]
    assert log.logical.lengths.tolist() == [50, 30, 70]
    assert log.logical.entries.tolist() == [0, 0, 500]
    assert log.logical.branches.tolist() == [0, 1, 0]
    assert log.logical.decode_ns.tolist() == [1_000, 2_000, 3_000]
    # A vector read is one request of two ranges; the read has another number, though it looks alike.
    assert (log.n_requests, log.n_ranges, log.physical_bytes) == (2, 3, 160)


def test_each_range_knows_the_first_entry_in_it():
    table = trace.table(LOGICAL, PHYSICAL, METADATA)
    assert table["first_entry"].to_pylist() == [0, 0, 500, 0, 500, None]
    assert table["branch"].to_pylist() == ["pt", "eta", "pt", None, None, None]
    assert table["layer"].to_pylist() == ["engine"] * 3 + ["store"] * 3


def test_arrays_of_a_scan_are_those_of_its_trace(tmp_path):
    path = tmp_path / "t.parquet"
    trace.write(path, trace.table(LOGICAL, PHYSICAL, METADATA))
    direct, read = trace.logical_of(LOGICAL), trace.read(path).logical
    for name in ("offsets", "lengths", "entries", "branches", "decode_ns"):
        assert np.array_equal(getattr(direct, name), getattr(read, name))
        assert getattr(direct, name).dtype == np.uint64
    assert len(trace.logical_of([])) == 0


def test_an_empty_trace_is_a_trace(tmp_path):
    path = tmp_path / "t.arrow"
    trace.write(path, trace.table([], [], METADATA))
    assert len(trace.read(path).logical) == 0
    assert trace.read(path).n_requests == 0


def table(**metadata):
    return trace.table(LOGICAL, PHYSICAL, METADATA | metadata)


@pytest.mark.parametrize("suffix", trace.SUFFIXES)
def test_what_is_no_trace_is_an_error_that_names_the_file(tmp_path, suffix):
    def read(content):
        trace.write(f"t{suffix}", content)
        return trace.read(f"t{suffix}")

    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"PAR1 or not" * 20)
    with pytest.raises(CorruptFileError, match=str(path)):
        trace.read(path)
    session("traces", tmp_path, {"table": table, "read": read}, [(rf"\bt\{suffix}", "t.trace")])


@pytest.mark.parametrize("suffix", trace.SUFFIXES)
def test_a_trace_with_a_wrong_bit_or_a_cut_is_an_error(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    trace.write(path, trace.table(LOGICAL, PHYSICAL, METADATA))
    good = path.read_bytes()
    chance = random.Random(suffix)
    damaged = [good[: chance.randrange(len(good))] for _ in range(100)]
    for _ in range(500):
        bad = bytearray(good)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(bad))
    # Where the checksum is, each bit.
    place = good.rindex(checksum.PLACEHOLDER[:17].encode())
    for bit in range(8 * len(checksum.PLACEHOLDER)):
        bad = bytearray(good)
        bad[place + bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(bad))
    for bad in damaged:
        path.write_bytes(bad)
        with pytest.raises(CorruptFileError, match=str(path)):
            trace.read(path)
    path.write_bytes(good)
    assert len(trace.read(path).logical) == len(LOGICAL)


@pytest.mark.parametrize("suffix", trace.SUFFIXES)
def test_a_trace_stays_one_for_other_readers(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    table = trace.table(LOGICAL, PHYSICAL, METADATA)
    trace.write(path, table)
    content = pq.read_table(path) if suffix == ".parquet" else pa.ipc.open_file(path.read_bytes()).read_all()
    assert content.equals(table)


@pytest.mark.parametrize("suffix", trace.SUFFIXES)
def test_a_signed_trace_that_makes_no_sense_is_our_error(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    right = trace.table(LOGICAL, PHYSICAL, METADATA)
    n = 300_000
    many = right.take(pa.array(np.zeros(n, np.int64)))
    if suffix == ".parquet":  # the size of an .arrow is that of its rows
        trace.write(path, many)
        with pytest.raises(CorruptFileError, match=r"rows in .* bytes, which no trace has"):
            trace.read(path)
    # Numbers of names that there are not.
    if suffix == ".arrow":
        wrong = pa.DictionaryArray.from_arrays(
            pa.array([-1] * right.num_rows, pa.int32()), ["logical"], safe=False
        )
        trace.write(path, right.set_column(0, right.schema.field("kind"), wrong))
        with pytest.raises(ar.CorruptFileError, match=str(path)):
            trace.read(path)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_signed_trace_that_is_compressed_is_refused_before_it_takes_memory(tmp_path, codec):
    path = tmp_path / "t.arrow"
    content = trace.table(LOGICAL, PHYSICAL, METADATA)
    content = content.append_column("offset", pa.array(["x" * 50_000_000] * content.num_rows))
    metadata = {**content.schema.metadata, checksum.KEY: checksum.PLACEHOLDER}
    content = content.replace_schema_metadata(metadata)
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, content.schema, options=options) as writer:
        writer.write_table(content)
    checksum.sign(path)
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(ar.CorruptFileError, match="not compressed"):
        trace.read(path)
    assert pa.default_memory_pool().max_memory() == before


def test_a_basket_at_the_end_of_all_numbers_is_an_error(tmp_path):
    path = tmp_path / "t.parquet"
    trace.write(path, trace.table([LOGICAL[0]._replace(offset=2**64 - 1, n_bytes=2)], [], METADATA))
    with pytest.raises(CorruptFileError, match="ends after the file"):
        trace.read(path)


def test_missing_files_and_other_names_are_errors(tmp_path):
    with pytest.raises(InvalidRequestError, match="parquet"):
        trace.read(tmp_path / "t.csv")
    for suffix in trace.SUFFIXES:
        with pytest.raises(StorageError, match="t"):
            trace.read(tmp_path / f"t{suffix}")


@pytest.mark.parametrize("suffix", trace.SUFFIXES)
def test_perf_writes_what_the_scan_read(sample, tmp_path, arrowroot_command, suffix):
    path = tmp_path / f"t{suffix}"
    done = arrowroot_command(
        "perf", sample[0], "--json", "--trace", path, "-c", "run,pt", "--cache-size", "2k"
    )
    document = json.loads(done.stdout)
    log = trace.read(path)
    scan = ar.open(sample[0], cache_size="2k")["Events"].scan(["run", "pt"])
    ranges = sorted(read for window in scan.plan.windows for read in window.ranges)
    assert len(log.logical) == document["first"]["n_baskets"]
    assert log.n_ranges == len(ranges)
    assert scan.plan.overhead_bytes > 0
    assert log.physical_bytes == document["first"]["read_total_bytes"] == scan.plan.read_bytes
    assert log.payload_bytes == document["first"]["payload_bytes"] == scan.plan.payload_bytes
    assert log.metadata["options"]["cache_size"] == "2048"
    assert log.protocol == _native.Protocol("plain", max_parallel=1)
    assert log.metadata["columns"] == ["run", "pt"]
    assert log.metadata["file_bytes"] == sample[0].stat().st_size


def test_accounts_add_up_over_the_files_of_a_chain(sample):
    one = ar.open(sample[0])["Events"].scan(trace=True)
    one.drain()
    two = ar.scan([sample[0], sample[0]], tree="Events", trace=True)
    two.drain()
    engine_of_one = next(account for account in one.accounts if account.layer == "engine")
    engine_of_two = next(account for account in two.accounts if account.layer == "engine")
    assert engine_of_two.n_attempted == 2 * engine_of_one.n_attempted == one.stats.read_calls * 2
    assert engine_of_two.bytes == 2 * engine_of_one.bytes
    assert 0 < engine_of_two.min_ns <= engine_of_two.max_ns <= engine_of_two.total_ns
    assert len(two.logical_reads()) == 2 * len(one.logical_reads()) == 2 * one.stats.n_baskets
    assert two.logical_reads()[-1].first_entry >= one.num_entries
    assert sum(read.n_bytes for read in two.physical_reads()) == two.stats.read_bytes


def test_accounts_of_a_file_are_of_all_its_reads(sample):
    file = ar.open(sample[0])
    opened = [account for account in file.accounts if account.operation == "open"]
    assert [(account.layer, account.n_successful) for account in opened] == [("store", 1)]
    before = sum(account.bytes for account in file.accounts)
    scan = file["Events"].scan()
    scan.drain()
    after = sum(account.bytes for account in file.accounts)
    assert before > 0
    assert after >= before + scan.stats.read_bytes


def test_friends_share_the_account(sample):
    tree = ar.open(sample[0])["Events"]
    tree.add_friend(ar.open(sample[0])["Events"], "f")
    scan = tree.scan(["run", "f.weight"], trace=True)
    scan.drain()
    assert {read.column for read in scan.logical_reads()} == {"run", "f.weight"}
    assert (
        sum(account.bytes for account in scan.accounts if account.layer == "engine") == scan.stats.read_bytes
    )


def test_a_trace_that_is_not_there_says_so(tmp_path):
    for name in ("gone.parquet", "gone.arrow"):
        with pytest.raises(StorageError, match=f"{name}: no such file"):
            trace.read(tmp_path / name)
