"""Entries like those of ATLAS's D3PDs: lists of numbers, and lists of lists, of many kinds of objects."""

from __future__ import annotations

from functools import cache
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot._sample import draws as of
from arrowroot._sample.columns import batch_of, list_of, nested_list_of, plain

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._sample.draws import Draws, Table

TREE = "physics"
#: Bytes of an entry in a file, compressed with zstd 5: measured with 20,000 entries.
STORED_BYTES = 7975.0

#: Objects of an entry: mean number and most; how their momenta fall, in MeV; and their members by the kinds of values.
_OBJECTS: dict[str, tuple[float, int, tuple[float, float], dict[str, str]]] = {
    "el": (
        1.6,
        14,
        (4000, 18000),
        {
            "energy": "E Et Ethad Ethad1 f1 f3 Emax2 emaxs1 Etcone20 Etcone30 Etcone40 ptcone20 ptcone30 ptcone40",
            "shape": "reta rphi weta2 ws3 wstot deltaeta1 deltaeta2 deltaphi2 deltaphiRescaled expectHitInBLayer",
            "impact": "trackd0 trackz0 trackd0pvunbiased trackz0pvunbiased tracksigd0pvunbiased",
            "angle": "tracktheta trackphi cl_phi etas2 etap phis2",
            "integer": "author isEM OQ nBLHits nPixHits nSCTHits nTRTHits nTRTHighTHits convFlag type origin",
            "charge": "charge",
            "flag": "loose medium tight loosePP mediumPP tightPP",
        },
    ),
    "ph": (
        1.8,
        14,
        (4000, 14000),
        {
            "energy": "E Et Ethad Ethad1 f1 Emax2 emaxs1 Etcone20 Etcone30 Etcone40 topoEtcone20 topoEtcone40",
            "shape": "reta rphi weta2 ws3 wstot fside emins1 deltaEs",
            "angle": "cl_phi etas2 etap phis2",
            "integer": "author isEM OQ convFlag isConv nConv type origin",
            "flag": "loose tight",
        },
    ),
    "mu": (
        1.2,
        12,
        (3000, 16000),
        {
            "energy": "E etcone20 etcone30 etcone40 ptcone20 ptcone30 ptcone40 me_qoverp id_qoverp matchchi2",
            "impact": "d0_exPV z0_exPV id_d0 id_z0 me_d0 me_z0",
            "angle": "id_theta id_phi me_theta me_phi",
            "integer": "author allauthor nBLHits nPixHits nSCTHits nTRTHits nMDTHits nRPCEtaHits nTGCPhiHits",
            "charge": "charge",
            "flag": "loose medium tight isCombinedMuon isStandAloneMuon isLowPtReconstructedMuon",
        },
    ),
    "tau": (
        2.0,
        14,
        (10000, 15000),
        {
            "energy": "Et m jet_Et calcVars_topoMass ipSigLeadTrk trFlightPathSig massTrkSys etOverPtLeadTrk",
            "shape": "BDTJetScore BDTEleScore likelihood SafeLikelihood calcVars_emFracEMScale seedCalo_centFrac",
            "integer": "author numTrack nProngLoose nPi0 seedCalo_nIsolLooseTrk",
            "charge": "charge",
            "flag": "JetBDTSigLoose JetBDTSigMedium JetBDTSigTight EleBDTLoose EleBDTMedium muonVeto",
        },
    ),
    "jet": (
        9.0,
        50,
        (7000, 22000),
        {
            "energy": "E m emscale_E emscale_pt constscale_E constscale_pt sumPtTrk Timing LArQuality HECQuality",
            "shape": "emfrac hecf fracSamplingMax NegativeE jvtxf BCH_CORR_CELL n90 WIDTH isBadLoose",
            "impact": "flavor_weight_JetFitterCOMBNN flavor_weight_IP3D flavor_weight_SV1 flavor_weight_MV1",
            "angle": "emscale_eta emscale_phi constscale_eta constscale_phi",
            "integer": "SamplingMax nTrk flavor_truth_label",
        },
    ),
    "trk": (
        45.0,
        240,
        (400, 900),
        {
            "energy": "chi2 qoverp",
            "impact": "d0 z0 d0_wrtPV z0_wrtPV",
            "angle": "theta",
            "integer": "ndof nBLHits nPixHits nSCTHits nTRTHits",
        },
    ),
    "cl": (
        40.0,
        200,
        (300, 1500),
        {"energy": "E_em E_had centermag secondlambda", "shape": "emfrac isolation", "angle": "calphi"},
    ),
    "mc": (
        60.0,
        300,
        (100, 6000),
        {"energy": "m vx_z", "impact": "vx_x vx_y", "integer": "status barcode pdgId", "charge": "charge"},
    ),
    "vxp": (
        9.0,
        40,
        (300, 20000),
        {"energy": "chi2 m", "impact": "x y", "position": "z", "integer": "type ndof nTracks"},
    ),
}
#: Lists of lists: the objects, the kind of the items, the mean number of items, members.
_NESTED = [
    ("el", "energy", 4.0, "jetcone_dr MET_wpx"),
    ("el", "integer", 2.0, "RecEv_index EF_index"),
    ("ph", "energy", 1.5, "convanglematch vx_convTrk_pt vx_convTrk_eta"),
    ("ph", "integer", 1.5, "vx_convTrk_nPixHits"),
    ("tau", "energy", 2.5, "track_pt track_eta track_phi seedCalo_track_pt"),
    ("tau", "integer", 2.5, "track_nPixHits track_nSCTHits"),
    ("jet", "energy", 6.0, "constit_pt constit_eta constit_phi"),
    ("jet", "integer", 3.0, "constit_index"),
    ("mc", "integer", 1.4, "parents children child_index parent_index"),
    ("vxp", "integer", 5.0, "trk_index"),
    ("vxp", "energy", 5.0, "trk_weight trk_chi2"),
]
_MET = [
    "RefFinal",
    "Final",
    "CorrTopo",
    "LocHadTopo",
    "Topo",
    "Track",
    "RefJet",
    "RefEle",
    "RefGamma",
    "Truth_NonInt",
]
_TRIGGERS = [
    *(
        f"EF_e{n}_{kind}"
        for n in (15, 20, 22, 24, 60)
        for kind in ("medium", "tight", "vh_medium1", "loose1")
    ),
    *(f"EF_mu{n}{kind}" for n in (4, 10, 18, 24, 36, 40) for kind in ("", "_MG", "_tight", "_medium")),
    *(f"EF_g{n}_{kind}" for n in (20, 40, 60, 80, 120) for kind in ("loose", "medium", "etcut")),
    *(f"EF_j{n}_a4tchad" for n in (15, 25, 35, 45, 55, 80, 110, 145, 180, 220, 280, 360, 460)),
    *(f"EF_xe{n}_{kind}" for n in (30, 40, 60, 80) for kind in ("noMu", "tclcw", "tight")),
    *(f"L1_{what}{n}" for what in ("EM", "MU", "J", "TAU", "XE") for n in (5, 10, 12, 15, 20, 30, 50, 75)),
]


@cache
def _kinds() -> dict[str, Table]:
    return {
        "energy": of.falling(0.0, 12000.0, 16),
        "shape": of.mostly(0.0, 0.1, of.power, 1.2, 14),
        "impact": of.peaked(0.05, 16),
        "angle": of.uniform(-pi, pi, 16),
        "position": of.normal(0.0, 60.0, 300.0, 16),
        "integer": of.one_of(tuple(range(16)), tuple(16.0 - i for i in range(16))),
        "charge": of.one_of((-1, 1), (1, 1), "f4"),
        "flag": of.one_of((0, 1), (2, 1)),
        "passed": of.flag(0.06),
    }


def entries(seed: int, step: int, n: int) -> pa.RecordBatch:
    """Return the entries of one step of the sample."""
    draws = of.Draws(seed, step)
    numbers = np.arange(step * n, (step + 1) * n, dtype=np.uint32)
    busy = of.activity(draws, n)
    made = {
        "RunNumber": plain(np.uint32(180_000) + numbers // np.uint32(50_000)),
        "EventNumber": plain(np.uint32(1_000_000) + numbers * np.uint32(2) + (draws.coarse(n) & np.uint8(1))),
        "lbn": plain(np.uint32(1) + numbers // np.uint32(400)),
        "bcid": plain(draws.of(of.below(256, "u4"), n)),
        "averageIntPerXing": plain(draws.of(of.normal(12.0, 4.0, 11.0, 10), n)),
    }
    lists: dict[str, of.Lists] = {}
    for name, (mean, most, pt, members) in _OBJECTS.items():
        lists[name] = of.Lists(draws, of.counts_of(draws, busy, mean, most))
        made |= _objects(draws, name, lists[name], pt, members)
    for name, kind, mean, nested in _NESTED:
        # The items of one object are the same for all of these members.
        counts = draws.of(of.poisson(mean, int(4 * mean) + 2), lists[name].n)
        inner = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=inner[1:])
        for member in nested.split():
            values = draws.of(_kinds()[kind], int(inner[-1]))
            made[f"{name}_{member}"] = nested_list_of(lists[name].offsets, inner, values)
    for name in _MET:
        made[f"MET_{name}_et"] = plain(draws.of(of.falling(0.0, 25000.0, 16), n))
        made[f"MET_{name}_phi"] = plain(draws.of(_kinds()["angle"], n))
        made[f"MET_{name}_sumet"] = plain(draws.of(of.falling(50000.0, 250000.0, 16), n))
    for name in _TRIGGERS:
        made[name] = plain(draws.of(_kinds()["passed"], n))
    return batch_of(made)


def _objects(
    draws: Draws, name: str, lists: of.Lists, pt: tuple[float, float], members: dict[str, str]
) -> dict[str, pa.Array]:
    values: dict[str, npt.NDArray[Any]] = {
        "pt": of.falling(*pt, 16)[lists.ranks],
        "eta": draws.of(of.normal(0.0, 1.4, 4.9, 16), lists.n),
        "phi": draws.of(_kinds()["angle"], lists.n),
    }
    for kind, names in members.items():
        values |= {member: draws.of(_kinds()[kind], lists.n) for member in names.split()}
    made = {f"{name}_n": plain(lists.counts)}
    return made | {f"{name}_{member}": list_of(lists.offsets, array) for member, array in values.items()}
