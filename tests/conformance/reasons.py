"""Why columns fail that no reader can pass: what the suite holds for true is not what the file says.

The evidence is what ROOT 6.40 does with these files.
"""

from __future__ import annotations

_TEXT = (
    "the truth is ROOT's JSON, which writes a vector<char> as text; the suite wants numbers for it everywhere else. "
    "Our numbers, written by TBufferJSON the same way, have the digest of the truth"
)
_ENUM = (
    "the file does not describe the class of the items. ROOT takes the objects for an enumeration and reads an int for "
    "each of them, whatever their size: TBufferFile::CheckByteCount complains, and the truth is these ints"
)

_FILES = {
    "skhep/uproot-issue-210.root:CollectionTree": {
        "HLT_xAOD__PhotonContainer_egamma_PhotonsAux.": _TEXT,
        "HLT_xAOD__ElectronContainer_egamma_Iso_ElectronsAux.": _TEXT,
        "HLT_xAOD__ElectronContainer_egamma_SC_ElectronsAux.": _TEXT,
        "HLT_CombinedMuonFeatureContainer": _ENUM
        + ". Each entry holds 16 bytes: byte count 12, version 9 member-wise, version 0 and checksum of the items, and "
        "a count of 0. ROOT takes the checksum for the count and reads 14,010 bytes",
    },
    "skhep/uproot-issue-76.root:KM3NET_EVENT": {
        "KM3NET_EVENT/triggeredHits": _ENUM, "KM3NET_EVENT/snapshotHits": _ENUM,
    },
    "skhep/uproot-issue-76.root:KM3NET_SUMMARYSLICE": {
        "KM3NET_SUMMARYSLICE/vector<KM3NETDAQ::JDAQSummaryFrame>": _ENUM
    },
    "skhep/uproot-issue407.root:KM3NET_EVENT": {
        "KM3NET_EVENT/triggeredHits": _ENUM, "KM3NET_EVENT/snapshotHits": _ENUM,
    },
    "skhep/uproot-issue407.root:KM3NET_SUMMARYSLICE": {
        "KM3NET_SUMMARYSLICE/vector<KM3NETDAQ::JDAQSummaryFrame>": _ENUM
    },
}  # fmt: skip

#: By path of the column, as ``suite.FileResult.path`` spells it.
REASONS = {f"{tree}:{column}": why for tree, columns in _FILES.items() for column, why in columns.items()}
