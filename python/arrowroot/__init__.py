"""Reads ROOT files as Apache Arrow columns, says what it cost, and writes them.

    import arrowroot as ar

    with ar.open("file.root") as f:
        tree = f["Events"]
        table = tree.to_arrow(["Muon_pt", "nMuon"], entries=slice(0, 1000))
        for batch in tree.scan(filter_name="Muon_*", batch_size="64 MB"):
            ...
    scan = ar.scan("data/*.root", tree="Events", columns=["Muon_pt"])
    ar.write("muons.root:Events", scan)

Importing it brings what opens and reads a tree. pyarrow and numpy come when they are needed, and so do chains, filters,
plans, and other parts of arrowroot that not every script uses.

    >>> about = f"arrowroot {ar.__version__}, commit {ar.__commit__}"
    >>> ar.debug_build  # its times would mean nothing
    False
"""

import warnings
from typing import TYPE_CHECKING, Any

from arrowroot import _native
from arrowroot._api.column import Column
from arrowroot._api.file import Directory, File, Key
from arrowroot._api.opening import open  # noqa: A004 - as for uproot
from arrowroot._api.scan import Scan
from arrowroot._api.tree import Tree
from arrowroot._attributes import no_attribute
from arrowroot._errors import (
    AccessDeniedError,
    ArrowrootError,
    ArrowrootWarning,
    BatchTooLongError,
    CorruptFileError,
    CutShortWarning,
    DamagedReplicaWarning,
    DrawDiffersWarning,
    FewReadersWarning,
    FilterError,
    IndexLeftOutWarning,
    InternalError,
    InvalidRequestError,
    InvalidTextError,
    LeftOutWarning,
    LostKeyError,
    MemoryBudgetWarning,
    MissingEventsError,
    MissingEventsWarning,
    MissingLibraryError,
    NoSuchAttributeError,
    NoSuchColumnError,
    NoSuchFileError,
    NoSuchKeyError,
    NoSuchOriginWarning,
    NotFoundError,
    OutOfMemoryError,
    OutOfRangeError,
    QueueFullError,
    QueueGrowthWarning,
    RecordedSchemaWarning,
    RecoveredWarning,
    SchemaMismatchError,
    StorageError,
    UnsupportedColumnWarning,
    UnsupportedError,
    UnusedEntriesWarning,
    WholeCopyWarning,
    WrongTypeError,
)
from arrowroot._native import Branch, __version__, debug_build
from arrowroot._objects.record import Record, Unreadable
from arrowroot._select.events import EventIndex, EventList
from arrowroot._storage.config import Configuration, Option, configuration
from arrowroot._storage.url import split_url

if TYPE_CHECKING:
    from arrowroot._api.attributes import AttributeSet, AttributeSets
    from arrowroot._api.dataset import Dataset, dataset
    from arrowroot._api.index import Indexed, index, pick
    from arrowroot._api.partitions import Partition, partitions
    from arrowroot._api.polars_source import scan_root
    from arrowroot._api.scan_files import Friends, scan
    from arrowroot._api.tree_column import TreeColumn
    from arrowroot._cost.accounts import Account
    from arrowroot._cost.plan import LogicalRead, PhysicalRead, Plan, Read, ScanStats, Window
    from arrowroot._cost.stalls import Stalls
    from arrowroot._cost.writing import WritingCost
    from arrowroot._histograms.filling import Histograms
    from arrowroot._histograms.wanted import Hist
    from arrowroot._layout.layout import Layout
    from arrowroot._merging.merge import MergeReport, merge
    from arrowroot._objects.axis import Axis
    from arrowroot._objects.collections import ObjectList, ObjectMap
    from arrowroot._objects.entry_list import EntryList
    from arrowroot._objects.graph import Graph
    from arrowroot._objects.histogram import Histogram
    from arrowroot._objects.matrix import Matrix
    from arrowroot._objects.poly import PolyHistogram, PolyProfile
    from arrowroot._objects.profile import Profile
    from arrowroot._objects.simple import Named, Parameter, Text
    from arrowroot._passes.left_out import LeftOut
    from arrowroot._select.cuts import Cut
    from arrowroot._select.objects import PhysicsObject
    from arrowroot._skimming.report import Skimmed
    from arrowroot._skimming.skim import skim
    from arrowroot._version import __commit__
    from arrowroot._writing.attributes import AttributeWriter
    from arrowroot._writing.calls import create, update, write
    from arrowroot._writing.contexts import FillContext, QueueState
    from arrowroot._writing.file import WritableDirectory, WritableFile
    from arrowroot._writing.plan import LayoutPlan
    from arrowroot._writing.table import TableWriter

__all__ = [
    "AccessDeniedError",
    "Account",
    "ArrowrootError",
    "ArrowrootWarning",
    "AttributeSet",
    "AttributeSets",
    "AttributeWriter",
    "Axis",
    "BatchTooLongError",
    "Branch",
    "Column",
    "Configuration",
    "CorruptFileError",
    "Cut",
    "CutShortWarning",
    "DamagedReplicaWarning",
    "Dataset",
    "Directory",
    "DrawDiffersWarning",
    "EntryList",
    "EventIndex",
    "EventList",
    "FewReadersWarning",
    "File",
    "FillContext",
    "FilterError",
    "Friends",
    "Graph",
    "Hist",
    "Histogram",
    "Histograms",
    "IndexLeftOutWarning",
    "Indexed",
    "InternalError",
    "InvalidRequestError",
    "InvalidTextError",
    "Key",
    "Layout",
    "LayoutPlan",
    "LeftOut",
    "LeftOutWarning",
    "LogicalRead",
    "LostKeyError",
    "Matrix",
    "MemoryBudgetWarning",
    "MergeReport",
    "MissingEventsError",
    "MissingEventsWarning",
    "MissingLibraryError",
    "Named",
    "NoSuchAttributeError",
    "NoSuchColumnError",
    "NoSuchFileError",
    "NoSuchKeyError",
    "NoSuchOriginWarning",
    "NotFoundError",
    "ObjectList",
    "ObjectMap",
    "Option",
    "OutOfMemoryError",
    "OutOfRangeError",
    "Parameter",
    "Partition",
    "PhysicalRead",
    "PhysicsObject",
    "Plan",
    "PolyHistogram",
    "PolyProfile",
    "Profile",
    "QueueFullError",
    "QueueGrowthWarning",
    "QueueState",
    "Read",
    "Record",
    "RecordedSchemaWarning",
    "RecoveredWarning",
    "Scan",
    "ScanStats",
    "SchemaMismatchError",
    "Skimmed",
    "Stalls",
    "StorageError",
    "TableWriter",
    "Text",
    "Tree",
    "TreeColumn",
    "Unreadable",
    "UnsupportedColumnWarning",
    "UnsupportedError",
    "UnusedEntriesWarning",
    "WholeCopyWarning",
    "Window",
    "WritableDirectory",
    "WritableFile",
    "WritingCost",
    "WrongTypeError",
    "__commit__",
    "__version__",
    "configuration",
    "create",
    "dataset",
    "debug_build",
    "index",
    "merge",
    "open",
    "partitions",
    "pick",
    "scan",
    "scan_root",
    "skim",
    "split_url",
    "update",
    "write",
]

if _native.debug_build:
    warnings.warn(
        "this is a debug build of arrowroot: its times mean nothing (make builds an optimised one)",
        stacklevel=2,
    )


#: Where the names that are imported when first used live, and what they are called there.
_LAZY = {
    **dict.fromkeys(("LogicalRead", "PhysicalRead", "Plan", "Read", "ScanStats", "Window"), "_cost.plan"),
    "Account": "_cost.accounts",
    **dict.fromkeys(("AttributeSet", "AttributeSets"), "_api.attributes"),
    "AttributeWriter": "_writing.attributes",
    **dict.fromkeys(("Dataset", "dataset"), "_api.dataset"),
    **dict.fromkeys(("Indexed", "index", "pick"), "_api.index"),
    **dict.fromkeys(("Partition", "partitions"), "_api.partitions"),
    "__commit__": "_version",
    "Axis": "_objects.axis",
    **dict.fromkeys(("ObjectList", "ObjectMap"), "_objects.collections"),
    "EntryList": "_objects.entry_list",
    "Hist": "_histograms.wanted",
    "Histograms": "_histograms.filling",
    "Graph": "_objects.graph",
    "Histogram": "_objects.histogram",
    "Matrix": "_objects.matrix",
    **dict.fromkeys(("PolyHistogram", "PolyProfile"), "_objects.poly"),
    "Profile": "_objects.profile",
    **dict.fromkeys(("Named", "Parameter", "Text"), "_objects.simple"),
    **dict.fromkeys(("Friends", "scan"), "_api.scan_files"),
    "scan_root": "_api.polars_source",
    "LeftOut": "_passes.left_out",
    "Cut": "_select.cuts",
    "PhysicsObject": "_select.objects",
    "Skimmed": "_skimming.report",
    "skim": "_skimming.skim",
    "Layout": "_layout.layout",
    **dict.fromkeys(("MergeReport", "merge"), "_merging.merge"),
    "TreeColumn": "_api.tree_column",
    "LayoutPlan": "_writing.plan",
    "Stalls": "_cost.stalls",
    "WritingCost": "_cost.writing",
    **dict.fromkeys(("FillContext", "QueueState"), "_writing.contexts"),
    "TableWriter": "_writing.table",
    **dict.fromkeys(("create", "update", "write"), "_writing.calls"),
    **dict.fromkeys(("WritableDirectory", "WritableFile"), "_writing.file"),
}


def __getattr__(name: str) -> Any:
    """Import the module that has the name: a script pays for what it uses."""
    if name not in _LAZY and name != "dask":
        raise no_attribute(__name__, name)
    from importlib import import_module

    if name == "dask":
        return import_module("arrowroot.dask")
    value = getattr(import_module(f"arrowroot.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
