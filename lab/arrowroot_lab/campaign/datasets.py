"""Datasets: found, or made once by their recipes into a cache directory, whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import CampaignError, LabError, MissingError
from arrowroot_lab.location import whole
from arrowroot_lab.quantities import size_text

from .children import run
from .identity import Identity, identify, known
from .providers import FileKind, filled, kind_of
from .site import here

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .model import Campaign, Dataset, Recipe

#: Space that is left on the disk, whatever a campaign allows.
_SPARE_BYTES = 1 << 30


@dataclass(frozen=True)
class FoundDataset:
    """A dataset that is there."""

    dataset: Dataset
    #: In the order of their names.
    files: list[Path]
    identity: Identity

    @property
    def kind(self) -> FileKind:
        """The kind of its files."""
        return kind_of(self.files[0].name)


def cache_directory() -> Path:
    """Return where the laboratory keeps what it made once.

    That is ``ARROWROOT_LAB_CACHE``, else the site's cache, else below the user's caches.
    """
    if told := os.environ.get("ARROWROOT_LAB_CACHE"):
        return Path(told).absolute()
    if (cache := here().cache) is not None:
        return cache
    from arrowroot_servers import home

    return Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache") / "arrowroot-lab"


def find(campaign: Campaign, dataset: Dataset) -> FoundDataset | None:
    """Return a dataset if it is there and its identity is known; None if it would have to be made or hashed first."""
    files = _listed(campaign, dataset) if dataset.recipe is None else _made(directory_of(campaign, dataset))
    identity = known(files, dataset.table, cache_directory()) if files else None
    return FoundDataset(dataset, files, identity) if identity else None


def check_needs(campaign: Campaign, what: str, needs: Sequence[str]) -> None:
    """Raise MissingError if a program, a module of Python or a path that something needs is not on this machine.

    needs: names; with a slash they are paths, from the directory of the campaign
    """
    usual = os.environ.get("PATH", os.defpath)
    path = os.pathsep.join(
        (str(Path(sys.executable).parent), usual, "/usr/sbin")
    )  # where Debian keeps servers
    for name in needs:
        if "/" in name:
            if not (campaign.path.parent / name).exists():
                raise MissingError(
                    f"{what} needs {name}, which is not there, seen from {campaign.path.parent.resolve()}: this "
                    "campaign is run in a clone of its repository"
                )
        elif shutil.which(name, path=path) is None and (not name.isidentifier() or find_spec(name) is None):
            raise MissingError(
                f"{what} needs {name}, which is no program on the PATH, and no module of {sys.executable}"
            )


def make(campaign: Campaign, dataset: Dataset) -> FoundDataset:
    """Return a dataset, made first if its recipe was not followed yet.

    Of several processes one makes it, and the others wait. Whoever is killed leaves nothing under its name.

    Raises: CampaignError if there are no such files; MissingError as `check_needs`; LabError if the recipe fails, or if
        it takes more space than the campaign's limit allows, or than there is.
    """
    if dataset.recipe is None:
        files = _listed(campaign, dataset)
        if not files:
            raise CampaignError(
                campaign.path, None, f"dataset.{dataset.name}.files", f"no file matches {dataset.files!r}"
            )
    else:
        files = _follow(campaign, dataset, dataset.recipe)
    return FoundDataset(dataset, files, identify(files, dataset.table, cache_directory()))


def directory_of(campaign: Campaign, dataset: Dataset) -> Path:
    """Return where the files of a recipe are, or will be: its name says what makes them."""
    recipe = dataset.recipe
    if recipe is None:
        raise ValueError(f"{dataset.name} has no recipe")
    told = {"by": recipe.by, "arguments": recipe.arguments, "table": dataset.table}
    if recipe.by == "script":
        told["script"] = hashlib.sha256((campaign.path.parent / recipe.arguments[0]).read_bytes()).hexdigest()
        told["arguments"] = recipe.arguments[1:]
    return cache_directory() / "datasets" / key_of(told)


def _listed(campaign: Campaign, dataset: Dataset) -> list[Path]:
    # Runners have directories of their own, where a path relative to ours leads nowhere.
    told = (campaign.path.parent / Path(whole(dataset.files or "")).expanduser()).absolute()
    if told.is_file():  # its name may have brackets
        return [told]
    base = Path(told.anchor)
    # pathlib, unlike glob, follows no links to directories, of which some lead back.
    found = sorted(path for path in base.glob(str(told.relative_to(base))) if path.is_file())
    # A file that is found by two ways is read once.
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def _made(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*") if path.is_file())


def _follow(campaign: Campaign, dataset: Dataset, recipe: Recipe) -> list[Path]:
    directory = directory_of(campaign, dataset)
    with locked(directory.with_suffix(".lock")):
        # Begun and not ended: whoever had the lock was killed. A recipe that it started may still write there.
        for path in directory.parent.glob(f"{directory.name}.making-*"):
            shutil.rmtree(path, ignore_errors=True)
        if not _made(directory):
            check_needs(campaign, f"dataset {dataset.name}: its script", dataset.needs)
            making = Path(tempfile.mkdtemp(prefix=f"{directory.name}.making-", dir=directory.parent))
            try:
                command = filled(recipe.command, directory=str(making), table=dataset.table)
                _run([*command, *whole(recipe.arguments[1:])], campaign, dataset, making)
                if not _made(making):
                    raise LabError(
                        f"dataset {dataset.name}: its recipe made no file in the directory that it was told"
                    )
                for path in _made(making):
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
                making.chmod(0o755)  # servers may be other users
                making.rename(directory)
            finally:
                shutil.rmtree(making, ignore_errors=True)
    return _made(directory)


def _run(command: list[str], campaign: Campaign, dataset: Dataset, directory: Path) -> None:
    """Let a recipe run, and end it, with all that it started, at the limits of time and space."""
    allowed = campaign.limits.disk_bytes
    free = shutil.disk_usage(directory).free - _SPARE_BYTES
    limit = free if allowed is None else min(free, allowed)

    def look() -> None:
        if (n_bytes := size_of(directory)) > limit:
            why = "is left on the disk" if limit == free else "limits.disk allows"
            raise LabError(
                f"dataset {dataset.name}: it takes more than {size_text(limit)}, which {why} ({size_text(n_bytes)})"
            )

    run(
        command,
        f"dataset {dataset.name}",
        timeout_s=campaign.limits.total_s or float("inf"),
        directory=campaign.path.parent,
        look=look,
    )
    look()  # it may have been quicker than that


def size_of(directory: Path) -> int:
    """Return the bytes that the files below a directory take on the disk."""
    total = 0
    # A directory that is gone meanwhile is passed over by os.walk; Path.rglob raises.
    for place, directories, files in os.walk(directory):
        for name in (*directories, *files):
            with suppress(OSError):
                total += Path(place, name).lstat().st_blocks * 512
    return total


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock among processes; it ends with the block, or with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
