"""The queries with arrowroot: expressions, and NumPy where columns are all that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from histograms import AXES, Z_MASS, filled

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
    """Query 5: of pairs, too."""
    one, other = (momenta(f"{which}(Muon_{{}})") for which in ("first", "second"))
    is_wanted = "first(Muon_charge) != second(Muon_charge) && mass > 60 && mass < 120"
    events = tree.to_numpy(
        "MET_pt",
        define={"mass": f"InvariantMasses({one}, {other})"},
        filter=f"nMuon >= 2 && any({is_wanted})",
        n_threads=n_threads,
    )
    return {"MET": filled(events["MET_pt"], AXES[5]["MET"])}


def isolated_jets(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 7: the leptons for each jet. Events without such a jet have the sum 0."""
    define = {f"jet_{name}": f"Jet_{name}[Jet_pt > 30]" for name in ("pt", "eta", "phi")}
    for name in ("eta", "phi"):
        define[f"lepton_{name}"] = (
            f"Concatenate(Muon_{name}[Muon_pt > 10], Electron_{name}[Electron_pt > 10])"
        )
    distance = "DeltaR(jet_eta, per(jet_eta, lepton_eta), jet_phi, per(jet_phi, lepton_phi))"
    define["sum"] = f"sum(jet_pt[all({distance} >= 0.4)])"
    events = tree.to_numpy("sum", define=define, n_threads=n_threads)
    return {"sum": filled(events["sum"], AXES[7]["sum"])}


def lepton_and_pair(tree: ar.Tree, n_threads: int) -> Histograms:
    """Query 8: indices of pairs. What needs a pair is null in events without one."""
    define = {name: f"Concatenate(Muon_{name}, Electron_{name})" for name in ("pt", "eta", "phi", "mass")}
    # Flavour and charge in one number: of a pair that is wanted it is the same but for the sign.
    define["kind"] = "Concatenate(13 * Muon_charge, 11 * Electron_charge)"
    define["place"] = "Iteration$ + 0 * kind"
    define["is_pair"] = "first(kind) == -second(kind)"
    one, other = (momenta(f"{which}({{}})") for which in ("first", "second"))
    define["best"] = f"argmin(abs(InvariantMasses({one}, {other})[is_pair] - {Z_MASS}))"
    define["i"], define["j"] = (
        f"coalesce({which}(place)[is_pair][best], -1)" for which in ("first", "second")
    )
    define["hardest"] = "argmax((place != i && place != j) ? pt : -1)"
    # An event without a pair has null, as for ``best``.
    define["transverse"] = "sqrt(2 * pt[hardest] * MET_pt * (1 - cos(MET_phi - phi[hardest]))) + 0 * best"
    events = tree.to_arrow("transverse", define=define, filter="nMuon + nElectron >= 3", n_threads=n_threads)
    found = [np.from_dlpack(chunk) for chunk in events["transverse"].drop_null().chunks]
    return {"mass": filled(np.concatenate(found), AXES[8]["mass"])}


def momenta(form: str) -> str:
    """The arguments of four-momenta, each in the form."""
    return ", ".join(form.format(name) for name in ("pt", "eta", "phi", "mass"))


def flat(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """The items of all lists: no chunk is a slice. pyarrow's ``to_numpy`` would import pandas, which takes long."""
    return np.concatenate([np.from_dlpack(chunk.values) for chunk in column.chunks])


#: The query that is not here is Awkward Array's: combinations of three.
QUERIES = {
    1: met, 2: jets, 3: central_jets, 4: two_jets, 5: muon_pair, 7: isolated_jets, 8: lepton_and_pair,
}  # fmt: skip
