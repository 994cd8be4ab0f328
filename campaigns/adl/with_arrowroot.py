"""The queries with arrowroot: each with the library of Arrow's world that says it most plainly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from histograms import AXES, filled

if TYPE_CHECKING:
    import pyarrow as pa

    import arrowroot as ar

    Histograms = dict[str, np.ndarray[Any, Any]]


def met(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 1: a column is an array."""
    events = tree.to_numpy("MET_pt", n_threads=n_threads)
    return {"MET": filled(events["MET_pt"], AXES[1]["MET"])}


def jets(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 2: so are the items of its lists."""
    events = tree.to_arrow("Jet_pt", n_threads=n_threads)
    return {"pt": filled(flat(events["Jet_pt"]), AXES[2]["pt"])}


def central_jets(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 3."""
    events = tree.to_arrow(["Jet_pt", "Jet_eta"], n_threads=n_threads)
    is_central = np.abs(flat(events["Jet_eta"])) < 1
    return {"pt": filled(flat(events["Jet_pt"])[is_central], AXES[3]["pt"])}


def two_jets(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 4: the condition is a filter."""
    events = tree.to_numpy("MET_pt", filter="count(Jet_pt > 40) >= 2", n_threads=n_threads)
    return {"MET": filled(events["MET_pt"], AXES[4]["MET"])}


def muon_pair(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 5: pairs are a join."""
    names = ["MET_pt", *(f"Muon_{name}" for name in ("pt", "eta", "phi", "mass", "charge"))]
    found = asked(tree, names, _MUON_PAIR, n_threads)
    return {"MET": filled(found["MET_pt"], AXES[5]["MET"])}


def isolated_jets(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 7: what is near is a join, too. Events without such a jet have the sum 0."""
    names = [f"{kind}_{name}" for kind in ("Jet", "Muon", "Electron") for name in ("pt", "eta", "phi")]
    found = asked(tree, names, _ISOLATED_JETS, n_threads)
    return {"sum": filled(found["sum"], AXES[7]["sum"])}


def asked(tree: ar.Tree, names: list[str], query: str, n_threads: int) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of what DuckDB answers; ``events`` has the columns, and the number of each entry."""
    import duckdb
    import pyarrow as pa

    events = tree.to_arrow(names, n_threads=n_threads)
    events = events.append_column("entry", pa.array(np.arange(events.num_rows)))
    with duckdb.connect(config={"threads": n_threads}) as connection:
        connection.register("events", events)
        answer: dict[str, np.ndarray[Any, Any]] = connection.sql(query).fetchnumpy()
    return answer


def flat(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """The items of all lists: no chunk is a slice. pyarrow's ``to_numpy`` would import pandas, which takes long."""
    return np.concatenate([np.from_dlpack(chunk.values) for chunk in column.chunks])


_MUON_PAIR = """
WITH muons AS (
    SELECT entry, MET_pt, unnest(Muon_charge) AS charge, unnest(Muon_pt)::DOUBLE AS pt,
           unnest(Muon_eta)::DOUBLE AS eta, unnest(Muon_phi)::DOUBLE AS phi, unnest(Muon_mass)::DOUBLE AS mass
    FROM events WHERE len(Muon_pt) >= 2
), momenta AS (
    SELECT entry, MET_pt, charge, pt * cos(phi) AS x, pt * sin(phi) AS y, pt * sinh(eta) AS z,
           sqrt((pt * cosh(eta)) ** 2 + mass ** 2) AS e
    FROM muons
)
SELECT any_value(a.MET_pt) AS MET_pt
FROM momenta a JOIN momenta b ON a.entry = b.entry AND a.charge < b.charge
WHERE (a.e + b.e) ** 2 - (a.x + b.x) ** 2 - (a.y + b.y) ** 2 - (a.z + b.z) ** 2 BETWEEN 60 ** 2 AND 120 ** 2
GROUP BY a.entry
"""
_ISOLATED_JETS = """
WITH jets AS (
    SELECT entry, unnest(Jet_pt)::DOUBLE AS pt, unnest(Jet_eta)::DOUBLE AS eta, unnest(Jet_phi)::DOUBLE AS phi
    FROM events
), leptons AS (
    SELECT entry, unnest(Muon_pt || Electron_pt) AS pt, unnest(Muon_eta || Electron_eta)::DOUBLE AS eta,
           unnest(Muon_phi || Electron_phi)::DOUBLE AS phi
    FROM events
), sums AS (
    SELECT entry, sum(pt) AS sum
    FROM jets
    WHERE pt > 30 AND NOT EXISTS (
        FROM leptons
        WHERE leptons.entry = jets.entry AND leptons.pt > 10
          AND (jets.eta - leptons.eta) ** 2 + (pi() - abs(pi() - abs(jets.phi - leptons.phi))) ** 2 < 0.4 ** 2)
    GROUP BY entry
)
SELECT coalesce(sum, 0) AS sum FROM events LEFT JOIN sums USING (entry)
"""
#: The queries that are not here are Awkward Array's: combinations of three, and of which one is the best.
QUERIES = {1: met, 2: jets, 3: central_jets, 4: two_jets, 5: muon_pair, 7: isolated_jets}
