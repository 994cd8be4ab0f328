"""Errors tell the byte that is wrong: in the file, or in what a part of the file holds once uncompressed."""

import pickle
import re
import struct
import zlib

import pyarrow as pa
import pytest

import arrowroot as ar

N_ENTRIES = 500
_BLOCK_BYTES = 9
# The last 400 bytes of entries may be these as well.
_DULL = {"x": bytes(400), "s": 100 * b"\x03000"}


def write(path, compression):
    """Write lists of 0 to 3 numbers and texts, as tree and as RNTuple."""
    uproot = pytest.importorskip("uproot")
    ak = pytest.importorskip("awkward")
    lists = ak.Array([[10 * i + j for j in range(i % 4)] for i in range(N_ENTRIES)])
    with uproot.recreate(path, compression=uproot.ZLIB(1) if compression else None) as file:
        texts = [str(i) for i in range(N_ENTRIES)]
        file.mktree("Tree", {"x": "var * int64", "s": "string"}).extend({"x": lists, "s": texts})
        file.mkrntuple("Ntuple", {"x": lists})


def stored_at(path, name, column):
    """Return where the first basket or page of a column is: offset and number of bytes."""
    with ar.open(path) as file:
        scan = file[name].scan([column], trace=True)
        pa.table(scan)
        return scan.logical_reads()[0][:2]


class Basket:
    """The record of a basket: what is said in its key, and its uncompressed payload."""

    def __init__(self, path, column):
        self.path = path
        self.column = column
        self.offset, self.n_bytes = stored_at(path, "Tree", column)
        record = path.read_bytes()[self.offset : self.offset + self.n_bytes]
        self.payload_bytes, _, self.key_bytes = struct.unpack_from(">iIH", record, 6)
        self.data_bytes = struct.unpack_from(">i", record, self.key_bytes - 5)[0] - self.key_bytes
        stored = record[self.key_bytes :]
        self.is_compressed = self.payload_bytes > len(stored)
        self.payload = bytearray(zlib.decompress(stored[_BLOCK_BYTES:]) if self.is_compressed else stored)

    def write(self):
        stored = bytes(self.payload)
        if self.is_compressed:
            # What was compressed as well as can be has no room for a change, so something else is made simpler.
            stored = stored[: self.data_bytes - 400] + _DULL[self.column] + stored[self.data_bytes :]
            stored = block(stored, self.n_bytes - self.key_bytes)
        patch(self.path, self.offset + self.key_bytes, stored)


def block(plain, n_bytes):
    """Return a zlib block in not more than so many bytes; what is behind a block is not looked at."""
    uproot = pytest.importorskip("uproot")
    packed = uproot.compression.compress(plain, uproot.ZLIB(1))
    assert len(packed) <= n_bytes
    return packed


def patch(path, offset, content):
    data = bytearray(path.read_bytes())
    data[offset : offset + len(content)] = content
    path.write_bytes(data)


def fault_of(path, name, column, **options):
    with ar.open(path) as file, pytest.raises(ar.CorruptFileError) as caught:
        file[name].to_arrow([column], **options)
    message = str(caught.value)
    found = re.search(
        r"\(at byte (\d+)(?: of the uncompressed payload of the (record|page) at byte (\d+))? of the file,? ?(.*)\)$",
        message,
    )
    assert found, message
    return int(found[1]), found[2], found[3] and int(found[3]), message


@pytest.mark.parametrize("column", ["x", "s"])
@pytest.mark.parametrize("compression", [False, True])
@pytest.mark.parametrize("entries", [None, slice(20, 40)], ids=["all", "some"])
def test_a_wrong_entry_offset_is_told_with_its_own_byte(tmp_path, column, compression, entries):
    path = tmp_path / "wrong.root"
    write(path, compression)
    basket = Basket(path, column)
    assert basket.is_compressed == compression
    position = basket.data_bytes + 4 + 4 * 20
    basket.payload[position : position + 4] = b"\x7f\xff\xff\xff"
    basket.write()
    byte, of, at, message = fault_of(path, "Tree", column, entries=entries)
    assert "entry 20 starts at 2147483647" in message
    assert "in basket of entries from 0" in message
    if compression:
        assert (byte, of, at) == (position, "record", basket.offset)
    else:
        assert (byte, of, at) == (basket.offset + basket.key_bytes + position, None, None)
        assert path.read_bytes()[byte : byte + 4] == b"\x7f\xff\xff\xff"


@pytest.mark.parametrize("compression", [False, True])
def test_a_wrong_value_is_told_with_its_own_byte(tmp_path, compression):
    path = tmp_path / "wrong.root"
    write(path, compression)
    basket = Basket(path, "s")
    # A text of three characters, of which the length says 200.
    position = basket.payload.index(b"\x03250")
    basket.payload[position] = 200
    basket.write()
    byte, of, at, message = fault_of(path, "Tree", "s")
    assert "entry 250 of the basket" in message
    if compression:
        assert (byte, of, at) == (position, "record", basket.offset)
    else:
        assert path.read_bytes()[byte : byte + 4] == b"\xc8250"


@pytest.mark.parametrize(
    ("column", "compression", "place", "content", "words"),
    [
        ("x", True, lambda basket: basket.key_bytes, b"??", "no compression algorithm"),
        ("x", True, lambda basket: basket.key_bytes - 1, b"\x07", "a basket record with flag 7"),
        ("s", False, lambda _: 6, None, "without entry offsets"),
    ],
    ids=["bytes", "key", "offsets"],
)
def test_what_is_wrong_with_a_basket_is_told_with_its_place_in_the_file(  # noqa: PLR0917 - pytest calls it
    tmp_path, column, compression, place, content, words
):
    path = tmp_path / "wrong.root"
    write(path, compression)
    basket = Basket(path, column)
    patch(path, basket.offset + place(basket), content or struct.pack(">i", basket.data_bytes))
    byte, of, _, message = fault_of(path, "Tree", column)
    assert words in message
    assert (byte, of) == (basket.offset + basket.key_bytes, None)


@pytest.mark.parametrize("compression", [False, True])
def test_a_wrong_page_is_told_with_its_place_in_the_file(tmp_path, compression):
    path = tmp_path / "wrong.root"
    write(path, compression)
    offset, n_bytes = stored_at(path, "Ntuple", "x")
    plain = N_ENTRIES * 8
    stored = b"\xff" * plain
    patch(path, offset, block(stored, n_bytes) if compression else stored)
    with ar.open(path) as file, pytest.raises(ar.CorruptFileError) as caught:
        file["Ntuple"].to_arrow(["x"], verify_checksums=False)
    place = f"byte 0 of the uncompressed payload of the page at byte {offset} of the file"
    assert (place if compression else f"byte {offset} of the file") in str(caught.value)
    assert compression == ("uncompressed" in str(caught.value))


def test_a_wrong_object_is_told_with_its_own_byte(tmp_path):
    path = tmp_path / "wrong.root"
    write(path, compression=False)
    with ar.open(path) as file:
        key = next(key for key in file._native.keys() if key.path == "Tree")  # noqa: SIM118 - no dict
    start = key.offset + key.stored_bytes - key.object_bytes
    patch(path, start + 1, b"\xff")
    with ar.open(path) as file, pytest.raises(ar.CorruptFileError, match="of the file") as caught:
        file["Tree"]
    byte = int(re.search(r"at byte (\d+) of the file", str(caught.value))[1])
    assert start <= byte < start + key.object_bytes, str(caught.value)


def test_a_wrong_column_among_others_can_be_left_out(tmp_path):
    path = tmp_path / "wrong.root"
    write(path, compression=False)
    basket = Basket(path, "x")
    position = basket.data_bytes + 4 + 4 * 20
    basket.payload[position : position + 4] = b"\x7f\xff\xff\xff"
    basket.write()
    with ar.open(path) as file:
        with pytest.raises(ar.CorruptFileError, match=r'\); "!x" among the columns reads the others$'):
            file["Tree"].to_arrow()
        others = file["Tree"].to_arrow(["!x"])
        assert others.column_names == [name for name in file["Tree"].column_names if name != "x"]
        assert others["s"].to_pylist()[:2] == ["0", "1"]
        # It is no column of what is read, or there is no choice: nobody is told to leave it out.
        for read in (
            lambda tree: tree.to_arrow(["s", "nx"], filter="len(x) > 0"),
            lambda tree: tree.entries_where("len(x) > 0 && nx > 0"),
            lambda tree: tree.to_arrow(["x"]),
        ):
            with pytest.raises(ar.CorruptFileError) as caught:
                read(file["Tree"])
            assert "reads the others" not in str(caught.value)
    whole = tmp_path / "whole.root"
    write(whole, compression=False)
    with ar.open(whole) as file, ar.open(path) as other:
        tree = file["Tree"]
        tree.add_friend(other["Tree"], "f")
        # The wrong column is one of the friend's, by another name than that.
        with pytest.raises(ar.CorruptFileError) as caught:
            tree.to_arrow(["x", "f.x", "f.s"])
        assert "reads the others" not in str(caught.value)
    chain = ar.scan(str(path), tree="Tree", columns=["!x", "!n*"])
    assert chain.read_all().column_names == ["s"]
    for read in (ar.scan(str(path), tree="Tree").read_all, ar.scan(str(path), tree="Tree").drain):
        with pytest.raises(ar.CorruptFileError, match='"!x" among the columns'):
            read()
    (piece,) = ar.partitions(str(path), "Tree")
    assert piece.read(["!x"]).column_names == [name for name in piece.columns if name != "x"]
    with pytest.raises(ar.InvalidRequestError, match="was not made with column 'y'"):
        piece.read(["!y"])


def test_a_class_that_writes_itself_is_not_simply_called_damaged(conformance, tmp_path):
    tree = ar.open(conformance / "skhep" / "uproot-issue-607.root")["MGTree"]
    with pytest.raises(ar.UnsupportedError, match="MGTEvent is most likely written by code of its own"):
        tree.to_arrow("event", n_threads=1)  # which basket is at fault first does not depend on threads then
    assert len(tree.to_arrow("event", raw=True)) == len(tree)
    # Numbers have no class.
    write(tmp_path / "wrong.root", compression=False)
    basket = Basket(tmp_path / "wrong.root", "s")
    basket.payload[basket.data_bytes + 4 : basket.data_bytes + 8] = b"\x7f\xff\xff\xff"
    basket.write()
    with pytest.raises(ar.CorruptFileError) as caught:
        ar.open(tmp_path / "wrong.root")["Tree"].to_arrow("s")
    assert "code of its own" not in str(caught.value)


LONG = "A" * 100_000
#: Requests that are refused, of a file and of its tree, and quote what was given.
REFUSED = {
    "content": lambda *_: ar.open(LONG.encode()),
    "content of an index": lambda path, _: ar.pick(path.read_bytes() * 10, [(1,)]),
    "strategy": lambda path, _: ar.open(path, strategy=LONG),
    "tree": lambda path, _: ar.scan(path, LONG),
    "object": lambda path, _: ar.open(path)[LONG],
    "column": lambda _, tree: tree.to_arrow(LONG),
    "filter": lambda _, tree: tree.to_arrow(filter=LONG),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_error_keeps_of_what_was_given_no_more_than_it_shows(tmp_path, what):
    path = tmp_path / "few.root"
    ar.write(f"{path}:T", {"x": [1, 2, 3]})
    with pytest.raises((ar.ArrowrootError, TypeError)) as caught:
        REFUSED[what](path, ar.open(path)["T"])
    error = caught.value
    assert max(len(str(error)), len(repr(error))) < 2500
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - pickled here
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_an_error_about_many_events_shows_few_and_keeps_all():
    error = ar.MissingEventsError("many", [(i,) for i in range(50_000)])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - pickled here
    assert len(repr(error)) < 2500
    assert (str(again), again.missing) == (str(error), error.missing)


def test_a_warning_keeps_of_what_it_quotes_no_more_than_it_shows():
    warning = ar.UnsupportedColumnWarning(LONG)
    assert len(str(warning)) < len(repr(warning)) < 2500
