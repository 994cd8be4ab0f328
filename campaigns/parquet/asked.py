"""Questions of the campaign `parquet` to each data set: columns, and entries of which one column is within bounds."""

from __future__ import annotations

from typing import NamedTuple


class Bounds(NamedTuple):
    """Entries of which a column is not below one number, and below the other, if there is one."""

    column: str
    low: float
    high: float | None


class Asked(NamedTuple):
    """Columns to read; none are all of them."""

    columns: tuple[str, ...] = ()
    bounds: Bounds | None = None


#: Names of columns that are drawn from few distinct values, and how many values there are.
FEW_NUMBERS = tuple(f"f{at:02d}" for at in range(20))
FEW_LISTS = tuple(f"v{at:02d}" for at in range(10))
N_DISTINCT = 100

_NUMBERS = {
    "nano": (
        "HTXS_Higgs_pt", "HTXS_Higgs_y", "btagWeight_CSVV2", "btagWeight_DeepCSVB", "CaloMET_phi", "CaloMET_pt",
        "CaloMET_sumEt", "ChsMET_phi", "ChsMET_pt", "ChsMET_sumEt",
    ),
    "few": FEW_NUMBERS[:10],
}  # fmt: skip
_LISTS = {
    "nano": (
        "Jet_pt", "Jet_eta", "Jet_phi", "Jet_mass", "Muon_pt", "Muon_eta", "Muon_phi", "Electron_pt", "Electron_eta",
        "GenPart_pt",
    ),
    "few": FEW_LISTS,
}  # fmt: skip
#: A column that grows from entry to entry: which number one of so many entries has, about.
_SORTED = {"nano": ("event", lambda entry: 1_000_000 + 3 * entry), "few": ("event", lambda entry: entry)}
#: One that does not, and from where on are about 2 % of its entries.
_UNSORTED = {"nano": ("MET_pt", 126.0), "few": (FEW_NUMBERS[-1], 0.98)}


def asked(name: str, what: str, n_entries: int) -> Asked:
    """Return what a workload's word means of a data set, ``nano`` or ``few``. Raises: KeyError if it means nothing."""
    numbers, lists = _NUMBERS[name], _LISTS[name]
    sorted_column, number_of = _SORTED[name]
    column, low = _UNSORTED[name]
    begin, end = n_entries // 2, n_entries // 2 + n_entries // 50
    return {
        "numbers": Asked(numbers),
        "lists": Asked(lists),
        "one_of_each": Asked((numbers[0], lists[0])),
        "both": Asked((*numbers, *lists)),
        "all": Asked(),
        "sorted": Asked((*numbers, *lists), Bounds(sorted_column, number_of(begin), number_of(end))),
        "unsorted": Asked((*numbers, *lists), Bounds(column, low, None)),
    }[what]
