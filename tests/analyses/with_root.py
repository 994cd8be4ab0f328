"""Files for all analyses, and what RDataFrame makes of them: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.analyses import (
    higgs_recoil_with_root,
    higgs_with_root,
    holes_with_root,
    isolated_jets_with_root,
    top_quarks_with_root,
)


def write() -> dict[str, Any]:
    """Write the files. Returns: of each analysis what it returns, as RDataFrame has it."""
    # One job, as much of what RDataFrame compiles for one analysis is what it needs for the others.
    return {
        **holes_with_root.expected(),
        "higgs_to_four_leptons": higgs_with_root.expected(),
        "top_quarks": top_quarks_with_root.expected(),
        "isolated_jets": isolated_jets_with_root.expected(),
        "higgs_recoil": higgs_recoil_with_root.expected(),
    }
