"""The queries in Awkward Array: of whatever reads the columns, arrowroot or uproot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import awkward as ak
import numpy as np
from histograms import AXES, BTAG, TOP_MASS, Z_MASS, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Takes names of columns; returns an array of records, one for each event.
    Read = Callable[[list[str]], ak.Array]
    Histograms = dict[str, np.ndarray[Any, Any]]


def met(read: Read) -> Histograms:
    """Query 1."""
    return {"MET": filled(read(["MET_pt"]).MET_pt, AXES[1]["MET"])}


def jets(read: Read) -> Histograms:
    """Query 2."""
    return {"pt": filled(ak.flatten(read(["Jet_pt"]).Jet_pt), AXES[2]["pt"])}


def central_jets(read: Read) -> Histograms:
    """Query 3."""
    events = read(["Jet_pt", "Jet_eta"])
    pt = events.Jet_pt[np.abs(events.Jet_eta) < 1]
    return {"pt": filled(ak.flatten(pt), AXES[3]["pt"])}


def two_jets(read: Read) -> Histograms:
    """Query 4."""
    events = read(["MET_pt", "Jet_pt"])
    chosen = ak.sum(events.Jet_pt > 40, axis=1) >= 2
    return {"MET": filled(events.MET_pt[chosen], AXES[4]["MET"])}


def muon_pair(read: Read) -> Histograms:
    """Query 5."""
    events = read(["MET_pt", *columns("Muon", "charge")])
    events = events[ak.num(events.Muon_pt) >= 2]
    one, other = ak.unzip(ak.combinations(objects(events, "Muon", charge="charge"), 2))
    mass = mass_of(one, other)
    is_wanted = (one.charge != other.charge) & (mass > 60) & (mass < 120)
    return {"MET": filled(events.MET_pt[ak.any(is_wanted, axis=1)], AXES[5]["MET"])}


def three_jets(read: Read) -> Histograms:
    """Query 6."""
    events = read([*columns("Jet"), BTAG])
    events = events[ak.num(events.Jet_pt) >= 3]
    three = ak.unzip(ak.combinations(objects(events, "Jet", btag=BTAG.removeprefix("Jet_")), 3))
    best = ak.argmin(np.abs(mass_of(*three) - TOP_MASS), axis=1, keepdims=True)
    a, b, c = (ak.flatten(jet[best]) for jet in three)
    pt = np.hypot(a.px + b.px + c.px, a.py + b.py + c.py)
    btag = np.maximum(np.maximum(a.btag, b.btag), c.btag)
    return {"pt": filled(pt, AXES[6]["pt"]), "btag": filled(btag, AXES[6]["btag"])}


def isolated_jets(read: Read) -> Histograms:
    """Query 7."""
    events = read([f"{kind}_{name}" for kind in ("Jet", "Muon", "Electron") for name in ("pt", "eta", "phi")])
    jets = direction(events, "Jet", 30)
    leptons = ak.concatenate([direction(events, "Muon", 10), direction(events, "Electron", 10)], axis=1)
    jet, lepton = ak.unzip(ak.cartesian([jets, leptons], nested=True))
    phi = (jet.phi - lepton.phi + np.pi) % (2 * np.pi) - np.pi
    is_near = (jet.eta - lepton.eta) ** 2 + phi**2 < 0.4**2
    sums = ak.sum(jets.pt[~ak.any(is_near, axis=2)], axis=1)
    return {"sum": filled(sums, AXES[7]["sum"])}


def lepton_and_pair(read: Read) -> Histograms:
    """Query 8."""
    events = read(["MET_pt", "MET_phi", *columns("Muon", "charge"), *columns("Electron", "charge")])
    events = events[ak.num(events.Muon_pt) + ak.num(events.Electron_pt) >= 3]
    members = {name: name for name in ("pt", "phi", "charge")}
    muons, electrons = (objects(events, kind, **members) for kind in ("Muon", "Electron"))
    # Flavour and charge in one number: of a pair that is wanted it is the same but for the sign.
    muons["kind"], electrons["kind"] = muons.charge * 13, electrons.charge * 11
    leptons = ak.concatenate([muons, electrons], axis=1)
    i, j = ak.unzip(ak.argcombinations(leptons, 2))
    is_pair = leptons.kind[i] == -leptons.kind[j]
    i, j = i[is_pair], j[is_pair]
    has_pair = ak.num(i) > 0
    events, leptons, i, j = (array[has_pair] for array in (events, leptons, i, j))
    best = ak.argmin(np.abs(mass_of(leptons[i], leptons[j]) - Z_MASS), axis=1, keepdims=True)
    places = ak.local_index(leptons)
    others = leptons[(places != ak.flatten(i[best])) & (places != ak.flatten(j[best]))]
    first = ak.flatten(others[ak.argmax(others.pt, axis=1, keepdims=True)])
    missing, missing_phi, pt, phi = (
        ak.values_astype(one, np.float64) for one in (events.MET_pt, events.MET_phi, first.pt, first.phi)
    )
    mass = np.sqrt(2 * pt * missing * (1 - np.cos(missing_phi - phi)))
    return {"mass": filled(mass, AXES[8]["mass"])}


QUERIES = {
    1: met, 2: jets, 3: central_jets, 4: two_jets, 5: muon_pair, 6: three_jets, 7: isolated_jets, 8: lepton_and_pair,
}  # fmt: skip


def columns(kind: str, *more: str) -> list[str]:
    """The columns of a four-momentum, and others of the same objects."""
    return [f"{kind}_{name}" for name in ("pt", "eta", "phi", "mass", *more)]


def objects(events: ak.Array, kind: str, **more: str) -> ak.Array:
    """The objects of a kind with their four-momenta, in double precision, and other members by the names given."""
    pt, eta, phi, mass = (ak.values_astype(events[name], np.float64) for name in columns(kind))
    px, py, pz = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
    energy = np.sqrt(px**2 + py**2 + pz**2 + mass**2)
    others = {name: events[f"{kind}_{member}"] for name, member in more.items()}
    return ak.zip({"px": px, "py": py, "pz": pz, "energy": energy, **others})


def direction(events: ak.Array, kind: str, least_pt: float) -> ak.Array:
    """The objects above a transverse momentum, with their directions."""
    names = ("pt", "eta", "phi")
    found = ak.zip({name: ak.values_astype(events[f"{kind}_{name}"], np.float64) for name in names})
    return found[found.pt > least_pt]


def mass_of(*objects: ak.Array) -> ak.Array:
    """The invariant masses of objects together."""
    px, py, pz, energy = (sum(one[name] for one in objects) for name in ("px", "py", "pz", "energy"))
    return np.sqrt(np.maximum(energy**2 - px**2 - py**2 - pz**2, 0))
