"""The names of the NanoAOD-like sample, by the kinds of their values (``nanoaod._kinds``)."""

from __future__ import annotations

import re
from itertools import product

#: Members of each collection besides pt, eta, phi and mass. "good0.8": set where the object is as good as 80 % of all;
#: "none": which of the four it does not have.
VECTORS = {
    "CorrT1METJet": {"area": "area", "ratio": "muonSubtrFactor", "large": "rawPt", "none": "pt mass"},
    "Electron": {
        "small": "deltaEtaSC eInvMinusPInv hoe scEtOverPt",
        "energy": "dr03EcalRecHitSumEt dr03HcalDepth1TowerSumEt dr03TkSumPt dr03TkSumPtHEEP jetPtRelv2 energyErr",
        "impact": "dxy dz ip3d",
        "error": "dxyErr dzErr",
        "isolation": "jetRelIso miniPFRelIso_all miniPFRelIso_chg pfRelIso03_all pfRelIso03_chg",
        "signed": "mvaFall17V2Iso mvaFall17V2noIso mvaTTH",
        "ratio": "r9",
        "width": "sieie",
        "significance": "sip3d",
        "charge": "charge tightCharge",
        "level": "cutBased",
        "index": "jetIdx photonIdx genPartIdx",
        "lepton": "pdgId",
        "bitmap": "vidNestedWPBitmap vidNestedWPBitmapHEEP",
        "good0.7": "cutBased_HEEP mvaFall17V2Iso_WP80 mvaFall17V2noIso_WP80",
        "good0.8": "convVeto mvaFall17V2Iso_WP90 mvaFall17V2noIso_WP90",
        "good0.9": "isPFcand mvaFall17V2Iso_WPL mvaFall17V2noIso_WPL",
        "byte": "jetNDauCharged lostHits seedGain cleanmask",
        "gen": "genPartFlav",
    },
    "FatJet": {
        "area": "area",
        "score": (
            "btagCSVV2 btagDDBvLV2 btagDDCvBV2 btagDDCvLV2 btagDeepB deepTagMD_H4qvsQCD deepTagMD_HbbvsQCD "
            "deepTagMD_TvsQCD deepTagMD_WvsQCD deepTagMD_ZHbbvsQCD deepTagMD_ZHccvsQCD deepTagMD_ZbbvsQCD "
            "deepTagMD_ZvsQCD deepTagMD_bbvsLight deepTagMD_ccvsLight deepTag_H deepTag_QCD deepTag_QCDothers "
            "deepTag_TvsQCD deepTag_WvsQCD deepTag_ZvsQCD particleNetMD_QCD particleNetMD_Xbb particleNetMD_Xcc "
            "particleNetMD_Xqq particleNet_H4qvsQCD particleNet_HbbvsQCD particleNet_HccvsQCD particleNet_QCD "
            "particleNet_TvsQCD particleNet_WvsQCD particleNet_ZvsQCD"
        ),
        "signed": "btagHbb",
        "large": "msoftdrop particleNet_mass",
        "small": "rawFactor",
        "fraction": "tau1 tau2 tau3 tau4 n2b1 n3b1",
        "default": "lsf3",
        "steps": "jetId",
        "index": "electronIdx3SJ muonIdx3SJ subJetIdx1 subJetIdx2 genJetAK8Idx",
        "constituents": "nConstituents",
        "flavour": "hadronFlavour",
        "byte": "nBHadrons nCHadrons",
    },
    "FsrPhoton": {"small": "dROverEt2", "isolation": "relIso03", "index": "muonIdx", "none": "mass"},
    "GenJetAK8": {"flavour": "partonFlavour", "flavour8": "hadronFlavour"},
    "GenJet": {"flavour": "partonFlavour", "flavour8": "hadronFlavour"},
    "GenPart": {
        "mother": "genPartIdxMother",
        "particle": "pdgId",
        "status": "status",
        "bitmap": "statusFlags",
    },
    "GenVisTau": {"charge": "charge", "mother": "genPartIdxMother", "code": "status"},
    "Jet": {
        "area": "area",
        "score": "btagCSVV2 btagDeepB btagDeepFlavB btagDeepFlavCvB btagDeepFlavCvL btagDeepFlavQG",
        "default": "btagDeepCvB btagDeepCvL qgl puIdDisc",
        "fraction": "chEmEF chFPV0EF chHEF muEF neEmEF neHEF",
        "ratio": "muonSubtrFactor bRegCorr cRegCorr",
        "small": "rawFactor bRegRes cRegRes",
        "index": "electronIdx1 electronIdx2 muonIdx1 muonIdx2 genJetIdx",
        "steps": "jetId puId",
        "count": "nElectrons nMuons",
        "constituents": "nConstituents",
        "flavour": "hadronFlavour partonFlavour",
        "byte": "cleanmask",
    },
    "LHEPart": {"large": "incomingpz", "particle": "pdgId", "charge": "spin status"},
    "Muon": {
        "impact": "dxy dxybs dz ip3d",
        "error": "dxyErr dzErr",
        "energy": "jetPtRelv2 ptErr",
        "isolation": (
            "jetRelIso miniPFRelIso_all miniPFRelIso_chg pfRelIso03_all pfRelIso03_chg pfRelIso04_all tkRelIso"
        ),
        "score": "segmentComp",
        "significance": "sip3d",
        "signed": "softMva mvaLowPt mvaTTH",
        "ratio": "tunepRelPt",
        "charge": "charge tightCharge",
        "index": "jetIdx fsrPhotonIdx genPartIdx",
        "count": "nStations",
        "steps": "nTrackerLayers",
        "lepton": "pdgId",
        "level8": "highPtId miniIsoId multiIsoId mvaId mvaLowPtId pfIsoId puppiIsoId tkIsoId",
        "good0.6": "tightId softMvaId",
        "good0.75": "mediumId mediumPromptId softId isGlobal inTimeMuon",
        "good0.9": "looseId highPurity isPFcand isTracker triggerIdLoose isStandalone",
        "byte": "jetNDauCharged cleanmask",
        "gen": "genPartFlav",
    },
    "Photon": {
        "energy": "energyErr",
        "small": "hoe",
        "signed": "mvaID mvaID_Fall17V1p1",
        "isolation": "pfRelIso03_all pfRelIso03_chg",
        "ratio": "r9",
        "width": "sieie",
        "zero": "charge",
        "level": "cutBased cutBased_Fall17V1Bitmap",
        "index": "electronIdx jetIdx genPartIdx",
        "particle": "pdgId",
        "bitmap": "vidNestedWPBitmap",
        "half": "isScEtaEB",
        "rarely": "isScEtaEE pixelSeed",
        "good0.6": "mvaID_WP80",
        "good0.75": "mvaID_WP90 electronVeto",
        "byte": "seedGain cleanmask",
        "gen": "genPartFlav",
    },
    "GenDressedLepton": {"lepton": "pdgId", "rarely": "hasTauAnc"},
    "GenIsolatedPhoton": {},
    "SoftActivityJet": {"none": "mass"},
    "SV": {
        "energy": "dlen chi2 ndof",
        "significance": "dlenSig dxySig",
        "impact": "dxy",
        "angle": "pAngle",
        "count": "charge",
        "position": "x y z",
        "byte": "ntracks",
    },
    "Tau": {
        "energy": "chargedIso neutralIso photonsOutsideSignalCone puCorr rawIso rawIsodR03",
        "impact": "dxy dz",
        "small": "leadTkDeltaEta leadTkDeltaPhi",
        "ratio": "leadTkPtOverTauPt",
        "score": "rawMVAnewDM2017v2 rawMVAoldDM rawMVAoldDMdR03 rawDeepTau2017v2p1VSe rawDeepTau2017v2p1VSjet",
        "signed": "rawDeepTau2017v2p1VSmu",
        "charge": "charge",
        "code": "decayMode rawAntiEleCat",
        "index": "jetIdx genPartIdx",
        "level8": "idAntiEle idAntiMu idMVAnewDM2017v2 idMVAoldDM idMVAoldDMdR03 idDeepTau2017v2p1VSjet",
        "good0.7": "idDecayMode",
        "good0.9": "idDecayModeNewDMs idAntiEleDeadECal",
        "byte": "cleanmask",
        "gen": "genPartFlav",
    },
    "TrigObj": {
        "large": "l1pt l1pt_2 l2pt",
        "particle": "id",
        "zero": "l1charge",
        "level": "l1iso",
        "bitmap": "filterBits",
        "none": "mass",
    },
    "IsoTrack": {
        "impact": "dxy dz",
        "isolation": "pfRelIso03_all pfRelIso03_chg miniPFRelIso_all miniPFRelIso_chg",
        "charge": "charge",
        "index": "fromPV",
        "particle": "pdgId",
        "good0.8": "isPFcand",
        "often": "isHighPurityTrack",
        "rarely": "isFromLostTrack",
        "none": "mass",
    },
}

_UP_DOWN = "ptJERDown ptJERUp ptJESDown ptJESUp ptUnclusteredDown ptUnclusteredUp"
#: One value for each entry: members of groups, "-" is the group alone.
SCALARS = {
    "HTXS": {
        "large": "Higgs_pt Higgs_y",
        "zero": (
            "stage1_1_cat_pTjet25GeV stage1_1_cat_pTjet30GeV stage1_1_fine_cat_pTjet25GeV stage1_1_fine_cat_pTjet30GeV "
            "stage1_2_cat_pTjet25GeV stage1_2_cat_pTjet30GeV stage1_2_fine_cat_pTjet25GeV stage1_2_fine_cat_pTjet30GeV "
            "stage_0 stage_1_pTjet25 stage_1_pTjet30"
        ),
        "byte": "njets25 njets30",
    },
    "btagWeight": {"ratio": "CSVV2 DeepCSVB"},
    "CaloMET": {"missing": "pt", "direction": "phi", "total": "sumEt"},
    "ChsMET": {"missing": "pt", "direction": "phi", "total": "sumEt"},
    "DeepMETResolutionTune": {"missing": "pt", "direction": "phi"},
    "DeepMETResponseTune": {"missing": "pt", "direction": "phi"},
    "Generator": {
        "large": "binvar scalePDF",
        "weight": "weight",
        "score": "x1 x2 xpdf1 xpdf2",
        "flavour": "id1 id2",
    },
    "genWeight": {"one": "-"},
    "LHEWeight": {"weight": "originalXWGTUP"},
    "LHE": {
        "large": "HT HTIncoming Vpt",
        "one": "AlphaS",
        "byte": "Njets Nb Nc Nuds Nglu NpNLO NpLO",
    },
    "GenMET": {"missing": "pt", "direction": "phi"},
    "MET": {
        "small": "MetUnclustEnUpDeltaX MetUnclustEnUpDeltaY",
        "large": "covXX covXY covYY sumPtUnclustered",
        "significance": "significance",
        "missing": "pt fiducialGenPt",
        "direction": "phi fiducialGenPhi",
        "total": "sumEt",
    },
    "Pileup": {"pileup": "nPU sumEOOT sumLOOT", "energy": "nTrueInt pudensity gpudensity"},
    "PuppiMET": {
        "missing": f"pt {_UP_DOWN}",
        "direction": f"phi {_UP_DOWN.replace('pt', 'phi')}",
        "total": "sumEt",
    },
    "RawMET": {"missing": "pt", "direction": "phi", "total": "sumEt"},
    "RawPuppiMET": {"missing": "pt", "direction": "phi", "total": "sumEt"},
    "TkMET": {"missing": "pt", "direction": "phi", "total": "sumEt"},
    "fixedGridRhoFastjet": {"large": "All Central CentralCalo CentralChargedPileUp CentralNeutral"},
    "SoftActivityJetHT": {"large": "- 10 2 5"},
    "SoftActivityJetNjets": {"count": "10 2 5"},
    "genTtbarId": {"code": "-"},
    "PV": {
        "large": "ndof score",
        "small": "x y",
        "position": "z",
        "ratio": "chi2",
        "vertices": "npvs npvsGood",
    },
    "L1Reco": {"yes": "step"},
    "L1simulation": {"rarely": "step"},
}

FLAGS = """
HBHENoiseFilter HBHENoiseIsoFilter CSCTightHaloFilter CSCTightHaloTrkMuUnvetoFilter CSCTightHalo2015Filter
globalTightHalo2016Filter globalSuperTightHalo2016Filter HcalStripHaloFilter hcalLaserEventFilter
EcalDeadCellTriggerPrimitiveFilter EcalDeadCellBoundaryEnergyFilter ecalBadCalibFilter goodVertices eeBadScFilter
ecalLaserCorrFilter trkPOGFilters chargedHadronTrackResolutionFilter muonBadTrackFilter BadChargedCandidateFilter
BadPFMuonFilter trkPOG_manystripclus53X trkPOG_toomanystripclus53X trkPOG_logErrorTooManyClusters METFilters
"""

#: Names of paths with their choices in braces; what they look at, and how much of it for each unit of their first
#: number.
TRIGGERS = [
    ("IsoMu{16,18,20,22,24,27,30}{,_eta2p1}", "Muon", 1.0),
    (
        "IsoMu{19,24,27}_{LooseIsoPFTau20,MediumChargedIsoPFTau35_Trk1_eta2p1,CentralPFJet30,SingleL1}",
        "Muon",
        1.0,
    ),
    ("IsoTkMu{18,20,22,24,27}", "Muon", 1.0),
    ("Mu{8,15,17,20,24,27,30,40,45,50,55}{,_TrkIsoVVL}", "Muon", 1.0),
    ("OldMu{50,100}", "Muon", 1.0),
    ("TkMu{11,17,27,50,100}", "Muon", 1.0),
    ("L2Mu{10,23,50}{,_NoVertex_3Sta}", "Muon", 1.0),
    (
        "DoubleMu{4_3_Bs,4_JpsiTrk_Displaced,8_Mass8,18_NoFilters,23_NoFilters,33_NoFilters,38_NoFilters}",
        "Muon2",
        1.0,
    ),
    ("Dimuon{0,6,7,8,10,13,16,20,25}_{Jpsi,Upsilon}", "Muon2", 0.7),
    ("Mu{17,20,37}_TrkIsoVVL_{Mu8,TkMu8,Mu10}_TrkIsoVVL_DZ_Mass3p8", "Muon2", 0.5),
    ("TripleMu_{5,10,12}_{3_3,5_5}{,_DZ}", "Muon2", 1.2),
    ("Ele{17,22,23,27,32,35,38,40}_WP{Loose,Tight}_Gsf", "Electron", 1.0),
    ("Ele{22,24,25,27,32}_eta2p1_WP{Loose,Tight}_Gsf_LooseIsoPFTau20", "Electron", 1.0),
    ("Ele{8,12,17,23}_{CaloIdL_TrackIdL_IsoVL,CaloIdM_TrackIdM}{,_PFJet30}", "Electron", 1.0),
    ("Ele{45,50,115,135,145,200,250,300}_CaloIdVT_GsfTrkIdT_PFJet165", "Electron", 0.6),
    ("DoubleEle{24_22,25,27,33}_{CaloIdL_MW,CaloIdL_GsfTrkIdVL}", "Electron2", 1.0),
    ("Ele{17,23}_Ele{8,12}_CaloIdL_TrackIdL_IsoVL{,_DZ}", "Electron2", 0.7),
    ("Mu{8,12,17,23,30}_TrkIsoVVL_Ele{8,12,23}_CaloIdL_TrackIdL_IsoVL_DZ", "Electron", 1.3),
    ("Photon{20,22,30,33,36,50,75,90,120,150,165,175,200,250,300}", "Photon", 0.7),
    ("Photon{22,30,36,50,75,90,120,165}_R9Id90_HE10_IsoM", "Photon", 0.7),
    ("DoublePhoton{33,60,70,85}{,_CaloIdL}", "Photon2", 0.6),
    ("Diphoton30_{18,22}_R9Id_OR_IsoCaloId_AND_HE_R9Id_Mass90", "Photon2", 0.6),
    ("PFJet{15,25,40,60,80,140,200,260,320,400,450,500,550}", "Jet", 0.7),
    ("PFJetFwd{40,60,80,140,200,260,320,400,450,500}", "Jet", 0.8),
    ("AK8PFJet{40,60,80,140,200,260,320,400,450,500,550}", "Jet", 0.8),
    ("AK8PFJet{330,360,380,400,420}_TrimMass30", "Jet", 0.7),
    ("DiPFJetAve{40,60,80,140,200,260,320,400,500}{,_HFJEC}", "Jet2", 0.8),
    ("QuadPFJet{98,103,105,111}_88_75_15_BTagCSV_p013_VBF2", "Jet2", 0.9),
    ("PFHT{125,180,200,250,300,350,370,430,510,590,680,780,890,1050}", "HT", 1.0),
    (
        "PFHT{300,330,400,450}_{FourPFJet_75_60_45_40,FivePFJet_100_100_60_30_30,SixPFJet36}_TriplePFBTagCSV",
        "HT",
        1.0,
    ),
    ("PFHT{500,700,800}_PFMET{75,85,95,100}_PFMHT75_IDTight", "HT", 1.0),
    ("AK8PFHT{600,650,700,750,800,850,900}_TrimMass50", "HT", 0.9),
    ("HT{200,275,325,410,425,430,550,650,750,2000,2500}_DisplacedDijet40_DisplacedTrack", "HT", 1.1),
    ("PFMET{90,100,110,120,130,140,170,200,250,300}_PFMHT90_IDTight", "MET", 1.0),
    ("PFMETNoMu{90,100,110,120,130,140}_PFMHTNoMu90_IDTight", "MET", 1.0),
    ("CaloMET{70,80,90,100,110,250,300,350}_HBHECleaned", "MET", 1.0),
    ("{Loose,Medium,Tight}ChargedIsoPFTau{20,27,35,50,180,200}_Trk1_eta2p1", "Tau", 1.0),
    ("Double{Loose,Medium,Tight}ChargedIsoPFTau{35,40}_Trk1{,_TightID}_eta2p1_Reg", "Tau2", 1.0),
]


def names_of(pattern: str) -> list[str]:
    """Return the names that a pattern stands for: "A{1,2}B" is A1B and A2B."""
    parts = re.split(r"\{([^}]*)\}", pattern)
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]
