"""Files like ALICE's AO2D, with directories of tables whose rows number those of others: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT

#: Rows of the tables of each directory, by file: of bunch crossings, collisions, tracks, particles.
FRAMES = (
    {"DF_17": (5, 3, 400, 30), "DF_18": (2, 2, 70, 0)},
    {"DF_3": (1, 0, 9, 7)},
    {"DF_21": (40, 33, 900, 150), "DF_22": (3, 2, 10, 4), "DF_23": (0, 0, 0, 0)},
)


def make() -> None:
    """Write ``f0.root`` to ``f2.root``."""
    ROOT.gRandom.SetSeed(1)
    for number, frames in enumerate(FRAMES):
        file = ROOT.TFile(f"f{number}.root", "RECREATE", "", (101, 505, 404)[number])
        ROOT.TObjString("about the data").Write("metaData")
        for name, (n_crossings, n_collisions, n_tracks, n_particles) in frames.items():
            file.mkdir(name).cd()
            _table("O2bc_001", n_crossings, [("fGlobalBC", "I", 1, _key)])
            _table(
                "O2collision_001",
                n_collisions,
                [("fKey", "I", 1, _key), ("fIndexBCs", "I", 1, _row(n_crossings))],
            )
            _table(
                "O2track_iu",
                n_tracks,
                [
                    ("fKey", "I", 1, _key),
                    ("fIndexCollisions", "I", 1, _row(n_collisions, lowest=-2)),
                    ("fX", "F", 1, lambda _: [ROOT.gRandom.Rndm()]),
                ],
            )
            _table("O2trackextra", n_tracks, [("fFlags", "s", 1, lambda row: [row % 999])])
            _table(
                "O2v0_002",
                n_tracks // 3,
                [("fIndexTracks_Pos", "I", 1, _row(n_tracks)), ("fIndexTracks_Neg", "I", 1, _row(n_tracks))],
            )
            _table(
                "O2mcparticle_001",
                n_particles,
                [
                    ("fKey", "I", 1, _key),
                    ("fIndexArray_Mothers", "I", 0, _rows(n_particles)),
                    ("fIndexSlice_Daughters", "I", 2, _slice(n_particles)),
                ],
            )
        file.Close()


def make_others() -> None:
    """Write files whose directories cannot be joined, named by why."""
    key = ("fKey", "I", 1, _key)
    _others("lacks", {"O2track": (5, [("fIndexCollisions", "I", 1, _row(3))])})
    _others("beyond", {"O2track": (5, [("fIndexTracks", "I", 1, lambda _: [5])])})
    _others("short", {"O2track": (5, [("fIndexTracks", "S", 1, lambda _: [1])])})
    _others(
        "two",
        {
            "O2track_iu": (5, [key]),
            "O2track_001": (4, [key]),
            "O2v0": (1, [("fIndexTracks", "I", 1, _row(4))]),
        },
    )
    _others(
        "some",
        {"O2track": (5, [key])},
        {"O2track": (5, [key, ("fIndexTracks", "I", 1, _row(5))])},
    )
    _others("fewer", {"O2track": (5, [key])}, {"O2bc": (5, [key]), "O2track": (5, [key])})


def _others(name: str, *frames: dict[str, tuple[int, list[Any]]]) -> None:
    file = ROOT.TFile(f"{name}.root", "RECREATE")
    for number, tables in enumerate(frames):
        file.mkdir(f"DF_{number}").cd()
        for tree, (n_rows, columns) in tables.items():
            _table(tree, n_rows, columns)
    file.Close()


def _key(_: int) -> list[int]:
    return [ROOT.gRandom.Integer(2**30)]


def _row(n_rows: int, lowest: int = -1) -> Any:
    return lambda _: [ROOT.gRandom.Integer(n_rows - lowest) + lowest]


def _rows(n_rows: int) -> Any:
    return lambda row: [ROOT.gRandom.Integer(n_rows) for _ in range(row % 4)]


def _slice(n_rows: int) -> Any:
    return lambda row: [-1, -1] if row % 5 == 0 else [row // 2, min(row, n_rows - 1)]


def _table(name: str, n_rows: int, columns: list[tuple[str, str, int, Any]]) -> None:
    """Write a tree. ``columns``: name, type, number of values (0: of any number) and what makes those of a row."""
    tree = ROOT.TTree(name, "")
    tree.SetAutoFlush(120)
    held = []
    for column, kind, size, _ in columns:
        values, count = array({"I": "i", "F": "f", "s": "H", "S": "h"}[kind], [0] * 8), array("i", [0])
        shape = {0: f"[{column}_size]", 1: ""}.get(size, f"[{size}]")
        if size == 0:
            tree.Branch(f"{column}_size", count, f"{column}_size/I")
        tree.Branch(column, values, f"{column}{shape}/{kind}")
        held.append((values, count))
    for row in range(n_rows):
        for (_, _, _, made), (values, count) in zip(columns, held, strict=True):
            found = made(row)
            count[0] = len(found)
            values[: len(found)] = array(values.typecode, found)
        tree.Fill()
    tree.Write()


def tables(path: str) -> dict[str, dict[str, dict[str, list[list[float]]]]]:
    """Return the values of each column of the trees in each directory, by row."""
    file = ROOT.TFile(path)
    found: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
    for key in file.GetListOfKeys():
        if key.GetClassName() == "TDirectoryFile":
            directory = key.ReadObj()
            names = [str(one.GetName()) for one in directory.GetListOfKeys()]
            found[str(key.GetName())] = {name: _values(directory.Get(name)) for name in names}
    return found


def _values(tree: Any) -> dict[str, list[list[float]]]:
    leaves = list(tree.GetListOfLeaves())
    found: dict[str, list[list[float]]] = {str(leaf.GetName()): [] for leaf in leaves}
    for row in range(tree.GetEntries()):
        tree.GetEntry(row)
        for leaf in leaves:
            found[str(leaf.GetName())].append([leaf.GetValue(k) for k in range(leaf.GetLen())])
    return found
