"""The metadata of a tree or RNTuple."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from arrowroot._api.column import Column, Listed, NumEntries
from arrowroot._errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot import _native
    from arrowroot._select.objects import PhysicsObject

    #: A tree, its path in an output, branches, and runs of entries: the first of each and the one after its last.
    Pick: TypeAlias = tuple[_native.Table, str, Sequence[str], npt.NDArray[np.uint64]]

#: Estimated bytes of metadata in memory for each branch (its record and what is made of it), and each basket or page.
_BRANCH_BYTES, _BASKET_BYTES = 1300, 32
#: The name of the record with the Arrow schema among what users added.
SCHEMA_RECORD = "ARROW:schema"


def _number(class_name: str, value: str) -> int | float | bool:
    if "bool" in class_name:
        return value != "0"
    return float(value) if "float" in class_name or "double" in class_name else int(value)


class TreeMetadata:
    """Names, numbers and columns of a tree. ``Tree`` reads them."""

    def __init__(self, native: _native.Table, url: str) -> None:
        """Take an opened tree."""
        self._native = native
        self._url = url
        self._branches: list[_native.Branch] | None = None

    @property
    def url(self) -> str:
        """Where the file is."""
        return self._url

    @property
    def name(self) -> str:
        """Name of the tree, without the directory."""
        return self._native.name

    @property
    def path(self) -> str:
        """Path of the tree in its file."""
        return self._native.path

    @property
    def location(self) -> str:
        """The tree as "FILE:TREE"."""
        return f"{self._url}:{self.path}"

    @property
    def title(self) -> str:
        """Title of the tree."""
        return self._native.title

    @property
    def class_name(self) -> str:
        """C++ class: TTree, TNtuple, TNtupleD, ROOT::RNTuple."""
        return self._native.class_name

    @property
    def written_by(self) -> str:
        """Version of an RNTuple's format and what wrote it; "" for a TTree."""
        return self._native.written_by or ""

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return NumEntries(self._native.num_entries)

    @property
    def entries_reshuffled(self) -> bool:
        """True if the entries are in an order by chance, as several threads wrote them (TTree::kEntriesReshuffled)."""
        return self._native.entries_reshuffled

    @property
    def n_leaves(self) -> int:
        """Number of leaves, readable or not; a branch of a leaf list has several."""
        return self._native.n_leaves

    @property
    def stored_bytes(self) -> int:
        """Bytes of all baskets, compressed, with their keys (fZipBytes); of all pages of an RNTuple."""
        return self._native.stored_bytes

    @property
    def memory_bytes(self) -> int:
        """Bytes of all baskets, uncompressed, with their keys (fTotBytes); of all pages of an RNTuple."""
        return self._native.memory_bytes

    @property
    def clusters(self) -> list[int]:
        """Boundaries of the clusters: the first entry of each, then the number of entries."""
        return self._native.clusters()

    @property
    def auto_flush(self) -> int | None:
        """``fAutoFlush``: entries in a cluster, bytes if negative, 0 if it was never flushed; None of an RNTuple."""
        return self._native.auto_flush

    def pieces(self) -> dict[str, Any]:
        """Return where all baskets or pages lie, told by metadata alone: see ``arrowroot layout``.

        "paths" are those of the branches, or of the fields and what is in them. The others are arrays of int64 with one
        number for each piece: "column" (its place in "paths"), "offset" (-1 if it is in the record of the tree),
        "stored_bytes", "first_entry" and "entry_end". Which entries a page of items in lists has is an estimate.

        Raises: StorageError if page lists of an RNTuple cannot be read; CorruptFileError.
        """
        return self._native.pieces()

    def optimized_baskets(self, max_memory_bytes: int) -> dict[str, Any] | None:
        """Return what ``TTree::OptimizeBaskets`` would say of its baskets; None of an RNTuple.

        "branches" are tuples: path, size that is recorded, size by the rule, whether the rule ends compression.
        "memory_bytes" and "n_baskets" are pairs: as recorded, and by the rule, as ROOT counts them.
        """
        return self._native.optimized_baskets(max_memory_bytes)

    @property
    def branches(self) -> list[_native.Branch]:
        """All branches, depth first, with the groups that hold others."""
        if self._branches is None:
            self._branches = Listed(self._native.branches())
        return self._branches

    def asked_types(self) -> dict[str, str]:
        """Return the C++ types of branches, or of fields at any depth, by path, as ``types=`` asks for them."""
        return self._native.asked_types()

    def has_branch(self, name: object) -> bool:
        """Return whether the tree itself has a branch of that path."""
        return isinstance(name, str) and self._native.has_path(name)

    @property
    def columns(self) -> list[Column]:
        """All columns, readable or not, without those of friends; the text of many has the first few."""
        return Listed(
            Column.of(branch) for branch in self.branches if not branch.is_group and not branch.is_part
        )

    @property
    def column_names(self) -> list[str]:
        """Names of all columns, readable or not, without those of friends."""
        return self._native.column_names()

    def digest(self) -> tuple[_native.Types, int]:
        """Return the Arrow types of all branches that can be read, and about the bytes of the metadata in memory."""
        types, n_branches, n_baskets = self._native.digest()
        return types, n_branches * _BRANCH_BYTES + n_baskets * _BASKET_BYTES

    def stored_schema(self) -> pa.Schema:
        """Return the Arrow schema of all columns that can be read, nullable where missing values are stored.

        A recorded schema may say of more columns that values may be missing, of which none is.
        """
        import pyarrow as pa

        return pa.Schema._import_from_c_capsule(self._native.stored_schema())  # noqa: SLF001 - it has no other face

    @property
    def aliases(self) -> dict[str, str]:
        """Expressions by the names that ``TTree::SetAlias`` gave them. They are columns of scans."""
        return dict(self._native.aliases)

    def pick_fault(self, branches: list[str]) -> str | None:
        """Return why entries of branches cannot be copied as their bytes are; "" if that makes no difference."""
        return self._native.pick_fault(branches)

    def picked(self, path: str, branches: Sequence[str], runs: npt.NDArray[np.uint64]) -> Pick:
        """Return entries of branches for a merger: ``path`` in the output, and runs of entries."""
        return self._native, path, branches, runs.ravel()

    @property
    def records_types(self) -> bool:
        """True of a TTree in which arrowroot recorded the Arrow types of its columns."""
        return any(name == SCHEMA_RECORD for _, name, _ in self._native.user_info)

    @property
    def user_info(self) -> dict[str, str | int | float | bool]:
        """Numbers and texts that users added, by name (``TTree::GetUserInfo``); a text without a name is its own.

        Objects of other classes than ``TNamed``, ``TObjString`` and ``TParameter`` are left out, and so is the Arrow
        schema that arrowroot records.
        """
        found: dict[str, str | int | float | bool] = {}
        for class_name, name, value in self._native.user_info:
            if name == SCHEMA_RECORD:
                continue
            if class_name == "TObjString":
                found[name] = name
            elif class_name.startswith("TParameter<"):
                found[name] = _number(class_name, value)
            else:
                found[name] = value
        return found

    @property
    def projections(self) -> dict[str, str]:
        """Columns of an RNTuple that are further names, and what they show: "Muon.pt", or "#Muon" for lengths of lists.

        They take no bytes of pages. Those that show parts of several fields are not among them. A TTree has none.
        """
        return dict(self._native.projections)

    @cached_property
    def objects(self) -> dict[str, PhysicsObject]:
        """The columns that are members of the same things, by what these are called, as far as the tree says it.

        Lists with one counter and a common name (``Muon_pt``, ``Muon_eta``), the members of a split collection, and
        those of an RNTuple's lists of records; podio's lists of references are relations of these, or subsets. Nothing
        is read for that. Scans deliver them by ``objects=True``.

        >>> tree.objects  # a list alone is none
        {}
        """
        from arrowroot._select.objects import objects_in

        return objects_in(self.branches)

    @property
    def attribute_sets(self) -> list[str]:
        """Names of an RNTuple's attribute sets, which are notes on ranges of its entries. A TTree has none."""
        return self._native.attribute_sets

    @property
    def recorded_friends(self) -> list[tuple[str, str, str]]:
        """Friends as the tree's record names them: alias, name of the tree, file ("" for this one).

        :meth:`add_recorded_friends` opens them; nothing else does.
        """
        return self._native.friends

    @property
    def recorded_index(self) -> tuple[str, ...] | None:
        """Columns that find the tree's entries when it is a friend (TTree::BuildIndex); None: their numbers do.

        Raises: UnsupportedError for an index that is no TTreeIndex of columns.
        """
        recorded = self._native.recorded_index
        if recorded is None:
            return None
        class_name, names = recorded
        if names is None:
            what = (
                f"has an index that cannot be read, a {class_name}"
                if class_name
                else "may have an index: its record cannot be read that far"
            )
            raise UnsupportedError(f"{self.location}: {what}")
        columns = tuple(name for name in names if name not in ("", "0"))
        own = {name for branch in self.branches for name in (branch.path, branch.name)}
        wrong = next((name for name in columns if name not in own), None)
        if wrong is not None or not columns:
            raise UnsupportedError(
                f"{self.location}: has an index of {' and '.join(names)}, which are no columns of it"
            )
        return columns
