"""Aliases, an index, friends, titles and user info of written trees: ROOT uses them, uproot and arrowroot read them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root
from tests.recorded import session

from . import notes_with_root

N_ENTRIES = 20
RUN, EVENT = 3 - np.arange(N_ENTRIES) % 4, np.arange(N_ENTRIES) // 4
PX, PY = np.arange(N_ENTRIES, dtype=float), np.full(N_ENTRIES, 2.0)
CLASSES = ("TFriendElement", "TNamed", "TVirtualIndex", "TTreeIndex", "TParameter<double>", "TList")
NOTES = {
    "aliases": {"pt": "sqrt(px*px+py*py)", "twice": "2*pt"},
    "index": ("run", "event"),
    "friends": {"beside": "other/Beside", "far": "far.root:Far"},
    "user_info": {
        "lumi": 12.5,
        "n": 3,
        "is_data": True,
        "note": "of mine",
        "large": np.int64(2**60),
        "least": -(2**63),
    },
}


@pytest.fixture
def written(tmp_path):
    data = {"run": RUN.astype(np.uint32), "event": EVENT.astype(np.uint64), "px": PX, "py": PY}
    with ar.create(tmp_path / "notes.root") as file:
        with file.tree("dir/Events", title="with notes", titles={"px": "in GeV"}, **NOTES) as tree:
            # In parts, as data come.
            for start in range(0, N_ENTRIES, 7):
                tree.append({name: values[start : start + 7] for name, values in data.items()})
        file["other/Beside"] = {"q": 100 * PX}
        # Events in another order, to be found by the index.
        file["plain"] = {"run": RUN[::-1].copy(), "event": EVENT[::-1].copy()}
        with file.tree("texts", user_info=["one", "two"]) as tree:
            tree.append({"x": PX})
    ar.write(f"{tmp_path}/far.root:Far", {"z": 1000 * PX})
    return tmp_path


def test_root_uses_what_a_tree_records(written):
    said = root.run(notes_with_root.use, written, complaints_but=())
    assert said["aliases"] == NOTES["aliases"]
    np.testing.assert_allclose(said["by alias"], np.hypot(PX, PY))
    np.testing.assert_allclose(said["by nested alias"], 2 * np.hypot(PX, PY))
    assert (said["title"], said["branch title"]) == ("with notes", "in GeV")
    expected = [
        [next((i for i in range(N_ENTRIES) if (RUN[i], EVENT[i]) == (run, event)), -1) for event in range(8)]
        for run in range(4)
    ]
    assert said["entries with index"] == expected
    assert said["index"] == ["run", "event"]
    # Its own; negative, as the friends have no index.
    assert said["bytes by index"] == -(4 + 8 + 8 + 8)
    assert said["info"] == {
        "lumi": ["TParameter<double>", 12.5],
        "n": ["TParameter<Long64_t>", 3],
        "is_data": ["TParameter<bool>", True],
        "note": ["TNamed", "of mine"],
        "large": ["TParameter<Long64_t>", 2**60],
        "least": ["TParameter<Long64_t>", -(2**63)],
    }
    assert said["friends"] == [["beside", "other/Beside", ""], ["far", "Far", "far.root"]]
    assert said["friend in the file"] == list(100 * PX)
    assert said["friend of another file"] == list(1000 * PX)
    assert said["sum with friends"] == list(1101 * PX)
    assert said["plain"] == [True, True, True]
    assert said["texts"] == [["TObjString", "one"], ["TObjString", "two"]]
    assert said["friend by index"] == list(PX[::-1])


def test_arrowroot_and_uproot_read_them(written):
    with ar.open(written / "notes.root") as file:
        tree = file["dir/Events"]
        assert tree.aliases == NOTES["aliases"]
        assert tree.recorded_index == ("run", "event")
        assert tree.recorded_friends == [("beside", "other/Beside", ""), ("far", "Far", "far.root")]
        assert tree.user_info == NOTES["user_info"]
        assert [type(value) for value in tree.user_info.values()] == [float, int, bool, str, int, int]
        assert file["texts"].user_info == {"one": "one", "two": "two"}
        tree.add_recorded_friends()
        table = tree.to_arrow(["px", "beside.q", "far.z"])
        assert table.num_rows == N_ENTRIES
        plain = file["plain"]
        plain.add_friend(file["dir/Events"])
        assert plain.to_numpy(["px"])["px"].tolist() == list(PX[::-1])
    with uproot.open(written / "notes.root") as file:
        tree = file["dir/Events"]
        assert tree.aliases == NOTES["aliases"]
        np.testing.assert_allclose(
            tree["pt"].array() if "pt" in tree else tree.arrays("pt").pt, np.hypot(PX, PY)
        )


def test_an_index_is_by_columns_of_any_name(tmp_path):
    path = tmp_path / "names.root"
    with ar.create(path) as file:
        with file.tree("Events", index=("run.n", "événement")) as tree:
            tree.append({"run.n": RUN, "événement": EVENT, "px": PX})
        # Its own name, though it looks like that of another one.
        with file.tree("Look", index="a_x2e_b") as tree:
            tree.append({"a_x2e_b": EVENT, "px": PX})
        file["plain"] = {"run.n": RUN[::-1].copy(), "événement": EVENT[::-1].copy()}
    assert root.run(notes_with_root.find, tmp_path, path, complaints_but=()) == {
        "names": ["run.n", "_u00e9_v_u00e9_nement"],
        "friend by index": list(PX[::-1]),
    }
    with ar.open(path) as file:
        assert file["Events"].recorded_index == ("run.n", "événement")
        assert file["Look"].recorded_index == ("a_x2e_b",)
        plain = file["plain"]
        plain.add_friend(file["Events"])
        assert plain.to_numpy(["px"])["px"].tolist() == list(PX[::-1])


def test_records_are_as_root_writes_them(tmp_path):
    """The record of a tree behind its leaves is the same, byte for byte, and so are the classes described."""
    theirs, ours = tmp_path / "theirs.root", tmp_path / "ours.root"
    ar.write(f"{tmp_path}/far.root:Far", {"z": PX})
    root.run(notes_with_root.write, tmp_path, theirs)
    with (
        ar.create(ours, compression="none") as file,
        file.tree(
            "Events",
            {"run": "int32", "event": "int32", "px": "float64"},
            aliases={"pt": "sqrt(px*px)"},
            index=("run", "event"),
            friends={"far": "far.root:Far"},
            user_info={"lumi": 12.5, "note": "text"},
        ) as tree,
    ):
        tree.append({"run": RUN.astype(np.int32), "event": EVENT.astype(np.int32), "px": PX})
    tails, described = [], []
    for path in (theirs, ours):
        with ar.open(path) as file:
            record = file.raw("Events")
        tails.append(record[record.index(b"TList\0") :])
        with uproot.open(path) as file:
            infos = file.file.streamers
        described.append({name: max(infos[name]) for name in CLASSES if name in infos})
    assert tails[1] == tails[0]
    assert described[1] == described[0]
    assert described[0]["TFriendElement"] == 2


def test_what_makes_no_sense_is_an_error_that_says_so(tmp_path):
    table = pa.table({"x": [0.5], "i": [1], "m": pa.array([None], pa.int32())})

    def written(**options):
        with ar.create("wrong.root") as file, file.tree("T", **options) as tree:
            tree.append(table)

    session("notes-of-trees", tmp_path, {"written": written}, [(r" at 0x\w+", "")])


def test_a_value_too_large_for_an_index_spoils_no_other_entries(tmp_path):
    path = tmp_path / "large.root"
    with ar.create(path) as file, file.tree("T", index="n") as tree:
        tree.append({"n": np.array([5, 2], np.uint64)})
        with pytest.raises(ar.InvalidRequestError, match="2\\^63"):
            tree.append({"n": np.array([2**63], np.uint64)})
        tree.append({"n": np.array([1], np.uint64)})
    with ar.open(path) as file:
        assert file["T"].num_entries == 3
    values = path.read_bytes()
    assert values  # the record is compressed; ROOT and the checker read it
