"""Places without a server of ours: files on a disk, files that others serve, and a line that is only simulated."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError, RefusedError
from arrowroot_lab.location import whole
from arrowroot_lab.machine import cold, proc

from . import measure_line
from .place import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from arrowroot_lab.campaign.model import Storage

#: A file of more than this share of the memory does not stay in the page cache: it is not read to be there.
_WARM_SHARE = 0.5


def warm(files: Sequence[Path]) -> None:
    """Read files that are not in the page cache, so that no sample waits for the disk."""
    memory = int(proc.fields("/proc/meminfo").get("MemTotal", "0 kB").split()[0]) * 1024
    for path in files:
        if path.stat().st_size > _WARM_SHARE * memory:
            continue
        try:
            if cold.cached_share(path) >= 1 - cold.MAX_SHARE:
                continue
        except RefusedError:  # nobody knows: then reading it is the way
            pass
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 22):
                pass


class Local(Place):
    """Files where they are or, if a directory is told, copies of them there."""

    def __init__(self, storage: Storage, files: Sequence[Path]) -> None:
        super().__init__([str(path) for path in files], list(files))
        self._storage = storage
        self._copies: Path | None = None

    def __enter__(self) -> Self:
        told = self._storage.options.get("directory")
        if told is not None:
            try:
                self._copies = Path(
                    tempfile.mkdtemp(prefix="arrowroot-lab-", dir=Path(whole(told)).expanduser())
                )
                self.files = [_copied(path, self._copies / str(n)) for n, path in enumerate(self.files)]
            except OSError as error:
                self.__exit__()
                raise LabError(
                    f"storage {self._storage.name}: the files cannot be copied to {told}: {error}"
                ) from None
            except BaseException:
                self.__exit__()
                raise
            self.urls = [str(path) for path in self.files]
        return self

    def __exit__(self, *_: object) -> None:
        if self._copies is not None:
            shutil.rmtree(self._copies, ignore_errors=True)

    def prepare_sample(self) -> dict[str, float]:
        """Evict the files if the storage is cold; else see that they are in the page cache."""
        if self._storage.is_cold:
            return {"cached_share_before": max(cold.evict(path) for path in self.files)}
        warm(self.files)
        return {}

    def line_figures(self) -> dict[str, float]:
        """Measure the disk past the page cache if the storage is cold, else the page cache, with the files in it."""
        if not self._storage.is_cold:
            warm(self.files)
        return measure_line.of_file(self.files[0], is_cold=self._storage.is_cold)


def _copied(path: Path, directory: Path) -> Path:
    directory.mkdir()
    copy = shutil.copyfile(path, directory / path.name)
    with copy.open("rb") as file:
        os.fsync(file.fileno())  # what is not on the disk yet cannot be evicted
    return copy


class Url(Place):
    """Files that others serve, by the names that the dataset's files have there."""

    def __init__(self, storage: Storage, files: Sequence[Path], names: Sequence[str]) -> None:
        assert storage.url is not None  # noqa: S101 - read.py sees to it
        super().__init__([storage.url.of_file(name) for name in names], list(files))
        self._limits = storage.limits

    def line_figures(self) -> dict[str, float]:
        """Measure the way to the server of the first file; no stream of one that is to be spared."""
        is_spared = self._limits.bytes_per_s is not None or self._limits.traffic_bytes is not None
        return measure_line.of_url(whole(self.urls[0]), has_stream=not is_spared)

    def answers(self) -> bool:
        """Ask the server of the first file for a byte."""
        return measure_line.answers(whole(self.urls[0]))


class Simulated(Place):
    """A line in virtual time: a runner predicts what reading the local files over it would take."""

    def __init__(self, storage: Storage, files: Sequence[Path]) -> None:
        super().__init__([str(path) for path in files], list(files), is_virtual=True)
        self._storage = storage

    def prepare_sample(self) -> dict[str, float]:
        """See that the files are in the page cache: what is measured of them is the decoding."""
        warm(self.files)
        return {}

    def line_figures(self) -> dict[str, float]:
        """Return the figures that the campaign tells."""
        return self._storage.figures(self._storage.line)
