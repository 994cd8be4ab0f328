"""Files with RNTuples and trees that ROOT is writing: whatever ROOT reads of a copy is read here, too."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

import arrowroot as ar
from tests.judge import root

from . import with_live_ntuples

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, int]]]:
    """Return a directory of copies, and what ROOT reads of each: entries by name."""
    directory = tmp_path_factory.mktemp("live")
    root.run(with_live_ntuples.write, directory)
    return directory, root.run(with_live_ntuples.read, directory)


def fault(path: Path, name: str, n_seen_by_root: int) -> str | None:
    """Return what is wrong with what is read of a copy, None if nothing is.

    Of a file that it recovers, ROOT may open an older cycle by the name alone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ar.RecoveredWarning)
        try:
            with ar.open(path) as file:
                found = file[name].to_arrow().to_pydict()
                if len(found["x"]) < n_seen_by_root and path.stem.endswith("_freed"):
                    found = file[f"{name};1"].to_arrow().to_pydict()
        except ar.ArrowrootError as error:
            return f"{type(error).__name__}: {error}"
    n_entries = len(found["x"])
    if n_entries < n_seen_by_root:
        return f"{n_entries} entries"
    numbers = list(range(n_entries))
    if found["x"] != numbers or found.get("v", None) not in (None, [[n] * (n % 4) for n in numbers]):
        return "other values"
    return None


@pytest.mark.long
def test_whatever_root_reads_of_a_file_that_is_written_to_is_read(looks):
    directory, seen = looks
    read = {(path, name): n for path, names in seen.items() for name, n in (names or {}).items()}
    assert {name for _, name in read} == {"N", "M", "T", "d/N", "d/M"}
    assert sum(path.endswith("_freed.root") for path, _ in read) > 50
    wrong = [
        f"{path}, {name}: ROOT reads {n} entries, here: {what}"
        for (path, name), n in read.items()
        if (what := fault(directory / path, name, n))
    ]
    assert not wrong, "\n".join(wrong)
