"""Files of which one replica is damaged: what is wrong in it is read from another, wherever it shows."""

import random
import warnings

import awkward as ak
import numpy as np
import pytest
import uproot

import arrowroot as ar

N_ENTRIES, N_PER_CLUSTER = 3000, 1000


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with a tree, an RNTuple, and a histogram in a directory."""
    path = tmp_path_factory.mktemp("replicas") / "whole.root"
    rng = np.random.default_rng(1)
    with uproot.recreate(path, compression=uproot.LZ4(1)) as file:
        types = {"number": "f8", "flag": "bool", "lists": "var * int32"}
        tree = file.mktree("Events", types)
        tree_of_texts = file.mktree("Texts", {"text": "string"})
        ntuple = file.mkrntuple("Ntuple", columns(rng))
        for _ in range(N_ENTRIES // N_PER_CLUSTER):
            some = columns(rng)
            tree.extend(some)
            tree_of_texts.extend({"text": [f"entry {number}" for number in range(N_PER_CLUSTER)]})
            ntuple.extend(some)
        file["inside/histogram"] = np.histogram(rng.normal(size=1000), bins=50)
    return path


def columns(rng):
    counts = rng.integers(0, 4, N_PER_CLUSTER)
    return {
        "number": rng.integers(0, 1000, N_PER_CLUSTER).astype(float),
        "flag": rng.integers(0, 2, N_PER_CLUSTER) > 0,
        "lists": ak.unflatten(rng.integers(0, 99, int(counts.sum())).astype(np.int32), counts),
    }


def key_of(path, name):
    with ar.open(path) as file:
        return next(key for key in file._native.keys() if key.path == name)  # noqa: SIM118 - no dict


def pieces(path, name, column):
    """Return offsets and bytes of the baskets or pages of a column."""
    with ar.open(path) as file:
        scan = file[name].scan([column], trace=True)
        scan.drain()
        return [(read.offset, read.n_bytes) for read in scan.logical_reads()]


def damaged(whole, place, name="damaged", *, n_bytes=8, byte=0xFF):
    """Return a copy with some bytes overwritten."""
    content = bytearray(whole.read_bytes())
    content[place : place + n_bytes] = bytes([byte]) * n_bytes
    copy = whole.with_name(f"{name}.root")
    copy.write_bytes(content)
    return copy


def tables(*places):
    """Read all that there is."""
    with ar.open(places[0], replicas=places[1:]) as file:
        found = [file[name].to_arrow().to_pydict() for name in ("Events", "Texts", "Ntuple")]
        return [*found, file["inside/histogram"].to_numpy()[0].tolist()]


@pytest.fixture(scope="module")
def expected(whole):
    return tables(whole)


def assert_is_read(damaged, whole, expected):
    with pytest.warns(ar.DamagedReplicaWarning) as caught:
        assert tables(str(damaged), str(whole)) == expected
    text = str(caught[0].message)
    assert text.startswith(str(damaged))
    assert text.endswith(f"it was read from its replica {whole} instead")


def assert_is_refused(damaged):
    """Alone, and where all replicas are damaged: the error names them all."""
    with pytest.raises(ar.CorruptFileError, match=str(damaged)):
        tables(damaged)
    other = damaged.with_name("other.root")
    other.write_bytes(damaged.read_bytes())
    with pytest.raises(ar.CorruptFileError) as caught:
        tables(str(damaged), str(other))
    text = str(caught.value)
    assert text.startswith(str(damaged))
    assert "; its replicas are no better: (1) " in text
    assert f") {other}: " in text


@pytest.mark.parametrize("column", ["number", "flag", "lists", "nlists"])
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("part", ["head", "payload"])
def test_a_basket_that_is_damaged_is_read_from_another_replica(whole, expected, column, number, part):
    offset, n_bytes = pieces(whole, "Events", column)[number]
    place = offset if part == "head" else offset + n_bytes - 12
    copy = damaged(whole, place)
    assert_is_read(copy, whole, expected)
    assert_is_refused(copy)


def test_a_basket_of_texts_that_is_damaged_is_read_from_another_replica(whole, expected):
    offset, n_bytes = pieces(whole, "Texts", "text")[1]
    copy = damaged(whole, offset + n_bytes - 12)
    assert_is_read(copy, whole, expected)
    assert_is_refused(copy)


# Of flags the pages are stored as they are and, by uproot, without a checksum: nothing tells.
@pytest.mark.parametrize("column", ["number", "lists"])
@pytest.mark.parametrize("number", [0, 2])
def test_a_page_that_is_damaged_is_read_from_another_replica(whole, expected, column, number):
    offset, n_bytes = pieces(whole, "Ntuple", column)[number]
    copy = damaged(whole, offset + n_bytes // 2)
    assert_is_read(copy, whole, expected)
    assert_is_refused(copy)


@pytest.mark.parametrize("name", ["Events", "Ntuple", "inside/histogram"])
def test_an_object_that_is_damaged_is_read_from_another_replica(whole, expected, name):
    key = key_of(whole, name)
    # The tree's record is not compressed; its byte count comes first.
    place = key.stored_bytes - key.object_bytes if name == "Events" else key.stored_bytes - 40
    copy = damaged(whole, key.offset + place, n_bytes=16)
    assert_is_read(copy, whole, expected)
    assert_is_refused(copy)


def envelopes(whole):
    """Return where header, footer and page lists of the RNTuple are, by what the keys of uproot say."""
    content = whole.read_bytes()
    with uproot.open(whole) as file:
        ntuple = file["Ntuple"]
        anchor = ntuple._members
        found = {
            "header": (anchor["fSeekHeader"], anchor["fNBytesHeader"]),
            "footer": (anchor["fSeekFooter"], anchor["fNBytesFooter"]),
        }
        group = ntuple.footer.cluster_group_records[0].page_list_link.locator
        found["page list"] = (group.offset, group.num_bytes)
    assert all(offset + n_bytes <= len(content) for offset, n_bytes in found.values())
    return found


@pytest.mark.parametrize("name", ["header", "footer", "page list"])
def test_an_envelope_that_is_damaged_is_read_from_another_replica(whole, expected, name):
    offset, n_bytes = envelopes(whole)[name]
    copy = damaged(whole, offset + n_bytes // 2)
    assert_is_read(copy, whole, expected)
    assert_is_refused(copy)


def test_descriptions_of_classes_that_are_damaged_are_read_from_another_replica(whole, expected):
    with uproot.open(whole) as file:
        place, n_bytes = file.file.fSeekInfo, file.file.fNbytesInfo
    copy = damaged(whole, place + n_bytes // 2, n_bytes=24)
    assert_is_read(copy, whole, expected)


def test_a_key_list_of_zeros_is_read_from_another_replica(whole, expected):
    """That of a directory, which opening the file does not look at."""
    with uproot.open(whole) as file:
        place = file["inside"]._fSeekKeys
    copy = damaged(whole, place, n_bytes=80, byte=0)
    assert_is_read(copy, whole, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ar.open(str(copy), replicas=[str(copy)]) as file:
            assert [key.path for key in file.key_list(recursive=True)][-2:] == ["inside", "inside/histogram"]
            assert "its replicas are no better" in str(file.damage)


def test_replicas_that_are_damaged_in_different_places_make_one_file(whole, expected):
    (first, second, _), text = pieces(whole, "Events", "number"), pieces(whole, "Texts", "text")[0]
    one = damaged(damaged(whole, first[0] + first[1] - 12), text[0] + text[1] - 12, "one")
    other = damaged(damaged(whole, second[0] + second[1] - 12), key_of(whole, "Ntuple").offset + 80, "two")
    with pytest.warns(ar.DamagedReplicaWarning) as caught:
        assert tables(str(one), str(other)) == expected
    assert {str(warning.message).partition(":")[0] for warning in caught} == {str(one), str(other)}


def test_what_is_another_file_is_not_read_for_it(whole, tmp_path):
    offset, n_bytes = pieces(whole, "Events", "number")[0]
    copy, longer, another = damaged(whole, offset + n_bytes - 12), tmp_path / "longer", tmp_path / "another"
    longer.write_bytes(whole.read_bytes() + b" ")
    content = bytearray(whole.read_bytes())
    content[250] ^= 1  # of the first record
    another.write_bytes(content)
    for other, why in (
        (longer, "bytes here"),
        (another, "does not begin as its replica"),
        (tmp_path / "no", "no such"),
    ):
        with (
            ar.open(str(copy), replicas=[str(other)]) as file,
            pytest.raises(ar.CorruptFileError, match=f"(?s){copy}.*{other}.*{why}"),
        ):
            file["Events"].to_arrow()


@pytest.mark.parametrize(
    "options",
    [
        {"n_threads": 1},
        {"batch_size": "4 kB"},
        {"entries": slice(500, 2500)},
        {"entries": np.arange(0, 3000, 7)},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["Events", "Ntuple"])
def test_no_entry_is_lost_or_comes_twice(whole, name, options):
    columns = ["number", "lists"]
    copy = whole
    for column in columns:
        for number, (offset, n_bytes) in enumerate(pieces(whole, name, column)):
            copy = damaged(copy, offset + n_bytes - 12, f"{column}{number}")
    with pytest.warns(ar.DamagedReplicaWarning), ar.open(str(copy), replicas=[str(whole)]) as file:
        found = file[name].scan(columns, **options).read_all()
    with ar.open(whole) as file:
        assert found.to_pydict() == file[name].scan(columns, **options).read_all().to_pydict()


def test_a_stream_warns_too(whole):
    pa = pytest.importorskip("pyarrow")
    offset, n_bytes = pieces(whole, "Events", "number")[1]
    copy = damaged(whole, offset + n_bytes - 12)
    with pytest.warns(ar.DamagedReplicaWarning), ar.open(str(copy), replicas=[str(whole)]) as file:
        assert pa.table(file["Events"].scan(["number"])).num_rows == N_ENTRIES


def test_what_is_not_damaged_asks_no_other_replica(whole, tmp_path):
    with ar.open(str(whole), replicas=[str(tmp_path / "nothing.root")]) as file:
        file["Events"].to_arrow()
        file["inside/histogram"]
        assert {account.layer for account in file.accounts} <= {"replica 1", "store"}


def test_bytes_that_are_turned_by_chance_make_no_difference(whole, expected):
    """Of the tree, whose baskets have checksums all; their heads, which are shorter than this, have none."""
    head_bytes = 120
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    found = [piece for column in ("number", "flag", "lists") for piece in pieces(whole, "Events", column)]
    content = whole.read_bytes()
    copy = whole.with_name("turned.root")
    for _ in range(100):
        turned = bytearray(content)
        offset, n_bytes = chance.choice(found)
        turned[offset + chance.randrange(head_bytes, n_bytes)] ^= 1 << chance.randrange(8)
        copy.write_bytes(turned)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ar.DamagedReplicaWarning)
            with ar.open(str(copy), replicas=[str(whole)]) as file:
                assert file["Events"].to_arrow().to_pydict() == expected[0], f"seed {seed}"


@pytest.mark.parametrize("block", [4096, 9000])
@pytest.mark.parametrize("compression", [None, uproot.ZSTD(1), uproot.ZLIB(1)], ids=str)
def test_blocks_of_zeros_give_no_other_values(tmp_path, compression, block):
    """Of baskets without compression heads and lists alone tell; what was read before damage shows is compared then."""
    whole, copy = tmp_path / "whole.root", tmp_path / "zeros.root"
    rng = np.random.default_rng(2)
    with uproot.recreate(whole, compression=compression) as file:
        tree = file.mktree("Events", {"number": "f8", "lists": "var * int32"})
        for _ in range(8):
            some = columns(rng)
            tree.extend({name: some[name] for name in ("number", "lists")})
    content = whole.read_bytes()
    with ar.open(whole) as file:
        expected = file["Events"].to_arrow().to_pydict()
    n_read = 0
    for start in range(block, len(content) - block, len(content) // 40):
        copy.write_bytes(content[:start] + bytes(block) + content[start + block :])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with ar.open(str(copy), replicas=[str(whole)]) as file:
                tree = file["Events"]
                found = tree.to_arrow().to_pydict()
        is_told = any(issubclass(warning.category, ar.DamagedReplicaWarning) for warning in caught)
        assert found == expected or (compression is None and not is_told), start
        n_read += is_told
    assert n_read >= (20 if compression else 5)


def test_what_was_read_before_damage_showed_and_nothing_vouches_for_is_compared(tmp_path):
    whole, copy = tmp_path / "whole.root", tmp_path / "copy.root"
    rng = np.random.default_rng(3)
    with uproot.recreate(whole, compression=None) as file:
        tree = file.mktree("Events", {"number": "f8", "lists": "var * int32"})
        for _ in range(8):
            some = columns(rng)
            tree.extend({column: some[column] for column in ("number", "lists")})
    content = bytearray(whole.read_bytes())
    number, lists = pieces(whole, "Events", "number")[0], pieces(whole, "Events", "lists")[-1]
    content[number[0] + 2000 : number[0] + 3000] = bytes(1000)
    content[lists[0] : lists[0] + 60] = b"\xff" * 60
    copy.write_bytes(content)
    with ar.open(whole) as file:
        expected = file["Events"].to_arrow(["number", "lists"]).to_pydict()
    with ar.open(str(copy), replicas=[str(whole)]) as file:
        scan = file["Events"].scan(["number", "lists"], batch_size="20 kB")
        with pytest.raises(
            ar.CorruptFileError, match=f"are others in the replica {whole}: begin the scan anew"
        ):
            scan.read_all()
        assert scan.read_all().to_pydict() == expected
