"""Files of which one replica is damaged, far away: what is wrong in it is read from the other."""

import os

import pytest

import arrowroot

from . import data, places
from .conftest import EVENTS

COLUMN = "x007"
DAMAGED = "damaged.root"
STRATEGIES = ["auto", "direct", "application-only", "storage-only", "lazy-download", "readahead", "treecache"]


@pytest.fixture(scope="module", autouse=True)
def damaged(served):
    """Make copies in which baskets of a column are wrong, and in one of them the tree's record, too."""
    with arrowroot.open(served / EVENTS) as file:
        scan = file[data.TREE].scan([COLUMN], trace=True)
        scan.drain()
        baskets = [read.offset for read in scan.logical_reads()]
        key = next(key for key in file._native.keys() if key.path == data.TREE)  # noqa: SIM118 - no dict
    content = bytearray((served / EVENTS).read_bytes())
    for offset in baskets[1:3]:
        block = content.index(b"ZS", offset)  # where its compressed data begin
        content[block : block + 8] = b"\xff" * 8
    (served / DAMAGED).write_bytes(content)
    content[key.offset + key.stored_bytes - key.object_bytes + 1] = 0xFF
    (served / f"record-{DAMAGED}").write_bytes(content)


@pytest.mark.parametrize("place", places.KINDS, indirect=True)
@pytest.mark.parametrize("name", [DAMAGED, f"record-{DAMAGED}"])
def test_what_is_damaged_on_one_server_is_read_from_another(place, started_places, local_tables, name):
    place.publish(name)
    spare = started_places("http")
    urls = [place.url(name), spare.url(EVENTS)]
    with (
        pytest.warns(arrowroot.DamagedReplicaWarning, match=rf"{name}.*{EVENTS} instead"),
        arrowroot.open(urls[0], replicas=urls[1:], **place.options) as file,
    ):
        table = file[data.TREE].to_arrow([COLUMN])
    assert table[COLUMN].equals(local_tables["all"][COLUMN])
    with (
        arrowroot.open(place.url(name), replicas=place.url(name), **place.options) as file,
        pytest.raises(arrowroot.CorruptFileError, match="its replicas are no better: "),
    ):
        file[data.TREE].to_arrow([COLUMN])


@pytest.mark.parametrize("place", ["http"], indirect=True)
@pytest.mark.parametrize(
    ("strategy", "blocks"), [(name, blocks) for name in STRATEGIES for blocks in (False, True)]
)
def test_what_is_kept_of_a_damaged_replica_is_no_hindrance(place, local_tables, tmp_path, strategy, blocks):
    options = {"strategy": strategy, "download_dir": str(tmp_path / "downloads")}
    if blocks:
        options["block_cache"] = str(tmp_path / "blocks")
    for _ in range(2):
        with (
            pytest.warns(arrowroot.DamagedReplicaWarning),
            arrowroot.open(place.url(DAMAGED), replicas=[place.url(EVENTS)], **options) as file,
        ):
            table = file[data.TREE].to_arrow([COLUMN], memory_budget="1 MB")
        assert table[COLUMN].equals(local_tables["all"][COLUMN])


@pytest.mark.parametrize("place", ["http"], indirect=True)
def test_the_account_says_which_replica_was_asked(place):
    with arrowroot.open(place.url(DAMAGED), replicas=[place.url(EVENTS)]) as file:
        tree = file[data.TREE]
        assert "replica 2" not in {account.layer for account in file.accounts}
        with pytest.warns(arrowroot.DamagedReplicaWarning):
            tree.to_arrow([COLUMN])
        second = [account for account in file.accounts if account.layer == "replica 2"]
    assert {account.operation for account in second} >= {"open", "read"}


@pytest.mark.parametrize("place", ["http"], indirect=True)
@pytest.mark.parametrize("strategy", ["auto", "direct", "readahead", "lazy-download"])
@pytest.mark.parametrize("name", [DAMAGED, f"record-{DAMAGED}"])
def test_what_came_damaged_is_read_again_whatever_was_kept_of_it(
    place, local_tables, tmp_path, strategy, name
):
    served = place.directory
    # The same file for the server, which takes size and second for its version: only its bytes differ.
    once = f"once-{strategy}-{name}"
    stamp = (1_700_000_000, 1_700_000_000)

    def serve(content):
        (served / once).write_bytes(content)
        os.utime(served / once, stamp)

    options = {
        "strategy": strategy,
        "block_cache": str(tmp_path / "blocks"),
        "download_dir": str(tmp_path / "downloads"),
    }
    serve((served / name).read_bytes())
    with arrowroot.open(place.url(once), **options) as file:
        with pytest.raises(arrowroot.CorruptFileError):
            file[data.TREE].to_arrow([COLUMN])
        serve((served / EVENTS).read_bytes())
        for opened in (file, arrowroot.open(place.url(once), **options)):
            assert opened[data.TREE].to_arrow([COLUMN])[COLUMN].equals(local_tables["all"][COLUMN])
    # Nothing asks the server again for what was read right.
    with arrowroot.open(place.url(once), **options) as file:
        scan = file[data.TREE].scan([COLUMN])
        scan.drain()
        assert all(account.bytes == 0 for account in scan.accounts if account.layer == "store")
