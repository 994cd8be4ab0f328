"""The recipe ``sample`` of a dataset: a file of events that ``arrowroot sample`` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.campaign.model import Recipe
from arrowroot_lab.location import whole
from arrowroot_lab.quantities import parse_bytes

if TYPE_CHECKING:
    from arrowroot_lab.campaign.keys import TomlTable

#: Kind of sample -> bytes of an entry, and columns.
_KINDS = {"nanoaod": (2065.0, 940), "d3pd": (7975.0, 430), "aod": (4565.0, 100)}
#: The layouts that ``arrowroot sample`` has names for.
_LAYOUTS = ("ttree", "rntuple", "old-aod", "aod-2011", "esd-2011", "d3pd", "nanoaod")
#: Options of ``arrowroot sample`` by key.
_OPTIONS = {
    "size": "--size", "layout": "--layout", "compression": "--compression", "flush": "--flush",
    "basket_size": "--basket-size", "page_size": "--page-size",
}  # fmt: skip
#: Its size if it is told neither a size nor a number of entries.
_USUAL_BYTES = 300_000_000


def read(table: TomlTable) -> Recipe:
    """Return the recipe of ``[dataset.NAME.sample]``."""
    kind = table.one_of("kind", "nanoaod", tuple(_KINDS))
    entry_bytes, n_columns = _KINDS[kind]
    if "size" in table and "entries" in table:
        table.fault("entries", "tell the size or the number of entries, not both")
    arguments = [kind, "--seed", str(table.whole("seed", 1, 0, 2**63 - 1))]
    n_bytes = float(table.parsed("size", _USUAL_BYTES, parse_bytes))
    if "entries" in table:
        n_entries = table.whole("entries", 1, 1, 10**12)
        arguments += ["--entries", str(n_entries)]
        n_bytes = n_entries * entry_bytes
    for key, option in _OPTIONS.items():
        value = table.text(key, None)
        if value is not None:
            # In one word, so that no value is taken for an option.
            arguments.append(f"{option}={whole(value)}")
    if "layout" in table:
        table.one_of("layout", "ttree", _LAYOUTS)
    table.end()
    return Recipe(
        "sample",
        tuple(arguments),
        (
            "{python}",
            "-m",
            "arrowroot",
            "sample",
            kind,
            f"{{directory}}/{kind}.root:{{table}}",
            "--reproducible",
        ),
        about_bytes=n_bytes,
        about_entries=n_bytes / entry_bytes,
        about_columns=n_columns,
        table="Events",
    )
