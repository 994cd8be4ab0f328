"""Plants known faults, one at a time, and reports which of them the tests catch.

    python tools/planted_faults.py                    # all rooms: hours
    python tools/planted_faults.py format writing     # some rooms
    python tools/planted_faults.py --record           # and write the outcome into tools/faults/README.md

Each patch of ``tools/faults/ROOM`` is one fault that a person might make; its first line says what is wrong then. The
command works in a work tree of its own of the commit that is checked out, below ``target/faults``: nothing that is not
committed is touched, or judged. A fault is *caught* if a test of its room fails, and fails again alone. A patch whose
code has moved too far does not apply: plant its fault anew. The outcome is compared with the recorded one.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

REPOSITORY = Path(__file__).resolve().parents[1]
FAULTS = Path("tools") / "faults"
MISSED, NOT_APPLIED, UNSTEADY, NOT_RUN = "missed", "does not apply", "unsteady", "not run"
#: Anything else is the test that caught a fault.
NOT_CAUGHT = (MISSED, NOT_APPLIED, UNSTEADY, NOT_RUN)
#: A judge that takes longer hangs, which is a fault that is caught.
LIMIT_S = 1800
#: A test that fails by chance, on a busy machine, hides those behind it: then all are run again, so often at most.
N_TRIES = 3
_ROW = re.compile(r"^\| (\w+) \| (\d\d-[\w-]+) \| .* \| (.+?) \|$")

#: Crates that a judged crate may need.
CRATES = (
    "arrowroot", "arrowroot-arrow", "arrowroot-file", "arrowroot-format", "arrowroot-storage", "arrowroot-writer",
)  # fmt: skip


@dataclass(frozen=True)
class Room:
    """Code that belongs together, and the command whose tests judge it."""

    command: tuple[str, ...]
    #: What stands behind it for all tests, with globs of files; and for one alone, with ``{}`` for its name.
    all: tuple[str, ...]
    alone: tuple[str, ...]
    #: How a test that failed is printed.
    failed: str


def cargo(crate: str) -> Room:
    """Return what a crate's own tests judge. To optimise what runs once takes longer than it saves."""
    hurry = (f"--config=profile.release.package.{name}.opt-level=1" for name in CRATES)
    command = ("cargo", "test", "--release", "-p", crate, *hurry, "--lib", "--tests", "--")
    return Room(command, (), ("--exact", "{}"), r"^test (\S+).* \.\.\. FAILED")


def pytest(*tests: str, slow: str = "") -> Room:
    """Return what tests in Python judge, but for those of ROOT and some that are slow, files named ``slow``."""
    command = (sys.executable, "-m", "pytest", "-x", "-q")
    ignored = (f"--ignore-glob=*/test_{name}.py" for name in slow.split())
    everything = ("-n", "2", "--dist", "loadfile", *ignored, *tests)
    return Room(command, everything, ("-n", "0", "{}"), r"^(?:FAILED|ERROR) (\S+)")


ROOMS = {
    "format": cargo("arrowroot-format"),
    "storage": cargo("arrowroot-storage"),
    "writer": cargo("arrowroot-writer"),
    "writing": pytest(
        "tests/writing", "tests/python/test_writing*.py", "tests/python/test_layout.py",
        slow="memory producers producers_that_stop end_of_program autosave failing_disks whole_files",
    ),
    "lab": pytest(
        "tests/lab",
        slow="browser killed_runs running cluster push sites storages batch builds classics classic_atlas runners adl "
        "secrets lab_cli traced datasets watch",
    ),
}  # fmt: skip


@dataclass
class Plantation:
    """The work tree that faults are planted in."""

    repository: Path

    @property
    def root(self) -> Path:
        """Where all of it stands."""
        return self.repository / "target" / "faults"

    @property
    def tree(self) -> Path:
        """The work tree."""
        return self.root / "tree"

    def prepare(self) -> None:
        """Check the commit out, and give it what is built: the extension, and a Python that has no ROOT."""
        if not (self.tree / ".git").exists():
            self._git(self.repository, "worktree", "prune")
            self._git(self.repository, "worktree", "add", "--force", "--detach", str(self.tree))
        head = self._git(self.repository, "rev-parse", "HEAD").stdout.strip()
        self._git(self.tree, "checkout", "--quiet", "--force", "--detach", head)
        self._git(self.tree, "clean", "--quiet", "-fd")
        for extension in (self.repository / "python" / "arrowroot").glob("_native*.so"):
            link = self.tree / "python" / "arrowroot" / extension.name
            link.unlink(missing_ok=True)
            link.symlink_to(extension)
        shared = self.repository.parent / "shared"
        if shared.exists() and not (self.root / "shared").exists():
            (self.root / "shared").symlink_to(shared)
        without_root = self.root / "without_root"
        without_root.mkdir(exist_ok=True)
        (without_root / "sitecustomize.py").write_text('import sys\n\nsys.modules["ROOT"] = None\n')

    def clear(self) -> None:
        """Take the fault away."""
        self._git(self.tree, "checkout", "--quiet", "--force", "HEAD", "--", ".")

    def plant(self, patch: Path) -> bool:
        """Apply a patch to the commit as it is; return False if its code is not there any more."""
        self.clear()
        return self._git(self.tree, "apply", "-C1", str(patch), is_tried=True).returncode == 0

    def judge(self, room: Room, alone: str | None = None) -> list[str] | None:
        """Return the tests that fail, of all or of one alone; None if the code cannot be compiled."""
        words = self._globbed(room.all) if alone is None else [word.format(alone) for word in room.alone]
        process = subprocess.Popen(
            [*room.command, *words], cwd=self.tree, env=self._environment(), start_new_session=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return [f"({LIMIT_S} s)"]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == 0:
            return []
        if "could not compile" in said:
            return None
        failed = re.findall(room.failed, said, re.MULTILINE)
        return list(dict.fromkeys(failed)) or [f"(exit status {process.returncode})"]

    def _globbed(self, words: Iterable[str]) -> list[str]:
        found = (
            (word, sorted(str(path.relative_to(self.tree)) for path in self.tree.glob(word)))
            for word in words
        )
        return [path for word, paths in found for path in (paths or [word])]

    def _environment(self) -> dict[str, str]:
        path = [self.root / "without_root", self.tree / "python", self.tree / "lab"]
        # In CI a missing ROOT is an error.
        return {name: text for name, text in os.environ.items() if name != "CI"} | {
            "CARGO_TARGET_DIR": str(self.repository / "target"),
            "CARGO_INCREMENTAL": "1",
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "RUST_TEST_THREADS": "8",
        }

    @staticmethod
    def _git(where: Path, *arguments: str, is_tried: bool = False) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(where), *arguments]
        return subprocess.run(command, check=not is_tried, capture_output=True, text=True)


def verdict(plantation: Plantation, room: Room) -> str:
    """Return the test that fails, and fails again alone, or what there is instead."""
    for _ in range(N_TRIES):
        failed = plantation.judge(room)
        if failed is None:
            return NOT_APPLIED
        if not failed:
            return MISSED
        for test in failed:
            if test.startswith("(") or plantation.judge(room, test):
                return test
    return UNSTEADY


def recorded(text: str) -> dict[tuple[str, str], str]:
    """Return the outcomes of a table: by room and fault, the test that caught it or what became of it."""
    rows = filter(None, map(_ROW.match, text.splitlines()))
    return {(room, fault): outcome.strip("`") for room, fault, outcome in (row.groups() for row in rows)}


def patches(repository: Path, room: str) -> list[Path]:
    """Return the patches of a room, in order."""
    return sorted((repository / FAULTS / room).glob("*.patch"))


def table(repository: Path, outcomes: dict[tuple[str, str], str]) -> str:
    """Return the table of all outcomes that are known."""
    rows = ["| room | fault | what is wrong | caught by |", "|---|---|---|---|"]
    for room in ROOMS:
        for patch in patches(repository, room):
            outcome = outcomes.get((room, patch.stem), NOT_RUN)
            what = patch.read_text(encoding="utf-8").partition("\n")[0]
            shown = outcome if outcome in NOT_CAUGHT else f"`{outcome}`"
            rows.append(f"| {room} | {patch.stem} | {what} | {shown} |")
    return "\n".join(rows) + "\n"


def run(repository: Path, rooms: dict[str, Room], *, records: bool) -> int:
    """Plant all faults of some rooms. Returns 1 if one is not caught that the table says was, or does not apply."""
    readme = repository / FAULTS / "README.md"
    text = readme.read_text(encoding="utf-8")
    known = recorded(text)
    found = dict(known)
    plantation = Plantation(repository)
    plantation.prepare()
    is_worse = False
    for name, room in rooms.items():
        plantation.clear()
        if (found_now := verdict(plantation, room)) != MISSED:
            sys.exit(f"{name}, without a fault: {found_now} (is it built? make build)")
        outcomes = []
        for patch in patches(repository, name):
            before = known.get((name, patch.stem), NOT_RUN)
            outcome = verdict(plantation, room) if plantation.plant(patch) else NOT_APPLIED
            is_caught = outcome not in NOT_CAUGHT
            is_lost = before not in NOT_CAUGHT and not is_caught
            is_worse |= is_lost or outcome == NOT_APPLIED
            lost = f", and was caught by {before}" if is_lost else ""
            print(f"{name}/{patch.stem}: {outcome}{lost}", flush=True)
            found[name, patch.stem] = outcome
            outcomes.append(is_caught)
            if records:
                head = text.partition("| room |")[0]
                readme.write_text(head + table(repository, found), encoding="utf-8")
        print(f"{name}: {sum(outcomes)} of {len(outcomes)} caught", flush=True)
    return int(is_worse)


def main() -> int:
    """Run the chosen rooms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)} (default: all)")
    parser.add_argument("--record", action="store_true", help="write the outcome into tools/faults/README.md")
    options = parser.parse_args()
    unknown = set(options.rooms) - set(ROOMS)
    if unknown:
        parser.error(f"no room {', '.join(sorted(unknown))}: there are {', '.join(ROOMS)}")
    # A shell in the background would have it ignored, and tests interrupt what they have started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = {name: room for name, room in ROOMS.items() if not options.rooms or name in options.rooms}
    return run(REPOSITORY, chosen, records=options.record)


if __name__ == "__main__":
    sys.exit(main())
