"""Settings of the processes that tests start, and what tests tell at the end."""

import os

from .again import Again

# ROOT's interpreter compiles what runs once, for a moment: to optimise it takes longer than it saves.
os.environ.setdefault("EXTRA_CLING_ARGS", "-O0")
# The terminal's width is not that of what tests read: workers of pytest-xdist have one of 80.
os.environ.pop("COLUMNS", None)


#: Rooms of tests that ``--quick`` leaves out, as they ask ROOT or servers,
_WITH_JUDGES = {"analyses", "conformance", "differential", "judge", "remote", "servers"}
#: and files of others that do, start many processes, or take long.
_SLOW = {
    "lab": {
        "adl", "batch", "browser", "check", "cluster", "datasets", "engines", "import", "killed_runs", "parquet",
        "plan", "push", "runners", "running", "storages", "store", "store_places", "wan", "watch",
    },
    "python": {"chunks", "convert", "dask_writing", "processes", "replacing", "replay", "replicas", "sample", "stress"},
    "robustness": {"bounds", "interrupt", "memory", "mutations"},
    "writing": {
        "autosave", "classes_in_one_process", "collections", "end_of_program", "failing_disks", "histograms_in_root",
        "invariants", "io_features", "layouts_in_root", "matrix", "memory", "merged_histograms",
        "precision", "producers", "producers_that_stop", "root_goes_on", "root_identity", "routes_in_root",
        "tree_notes", "who_reads", "whole_files", "written_objects",
    },
}  # fmt: skip


#: Files of ``tests/python`` about servers, damage, processes, simulated time and texts of commands. ``--oldest``
#: leaves them out: the engine and the standard library do all of it. In the others data go to NumPy, pyarrow, ...
_OWN = {
    "completion", "config", "damaged_files", "descriptors", "error_places", "fjr", "layout_command", "locations",
    "metrics", "model", "processes", "render", "replacing", "replay", "replicas", "sizes", "stalls", "stress", "tune",
    "url",
}  # fmt: skip


def pytest_addoption(parser):
    """Have pytest know ``--quick``, ``--alone``, ``--long`` and ``--oldest``."""
    parser.addoption("--quick", action="store_true", help="leave out what takes long: servers, ROOT, soaks")
    parser.addoption("--alone", action="store_true", help="what fails is not asked once more, as it is in CI")
    parser.addoption("--long", action="store_true", help="with the tests that are marked as long")
    parser.addoption(
        "--oldest", action="store_true", help="leave out what other versions of packages do not change"
    )


def pytest_configure(config):
    """Have what fails in CI asked once more."""
    if os.environ.get("CI") and not hasattr(config, "workerinput") and not config.getoption("--alone"):
        config.pluginmanager.register(Again())


def pytest_ignore_collect(collection_path, config):
    """Leave out what ``--quick`` and ``--oldest`` do."""
    if not collection_path.name.startswith("test_"):
        return None
    room, name = collection_path.parent.name, collection_path.stem.removeprefix("test_")
    is_slow = room in _WITH_JUDGES or name in _SLOW.get(room, ())
    is_left_out = (config.getoption("--quick") and is_slow) or (config.getoption("--oldest") and name in _OWN)
    return True if is_left_out else None


#: Files that take longest, which go first: one that came last would keep a single process busy.
_LONG = (
    "test_conformance", "test_who_reads", "test_live_ntuples", "test_live_writer", "test_schemas", "test_runners",
    "test_running", "test_killed_runs", "test_memory", "test_interrupt", "test_browser", "test_mutations", "test_adl",
    "test_batch", "test_store", "test_classes_in_one_process", "test_root_ntuple_classes", "test_bounds",
    "test_faults", "test_matrix",
)  # fmt: skip


def pytest_collection_modifyitems(config, items):
    """Leave long tests to ``make soak-long``, and have those of long files come first; pytest-xdist keeps the order."""
    if not (config.getoption("--long") or os.environ.get("ARROWROOT_SOAK")):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    ranks = {name: rank for rank, name in enumerate(_LONG)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


def pytest_terminal_summary(terminalreporter):
    """Print what tests recorded as ``told``: what a worker of pytest-xdist prints is not seen."""
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, text in report.user_properties:
                    if name == "told":
                        terminalreporter.write_line(f"\n{text}")
