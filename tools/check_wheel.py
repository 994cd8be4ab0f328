"""Try the wheels where nothing else is installed: look into them, install them, run their commands, read a file.

ROOT wrote the file; the clean environment has the wheels and their dependencies only.

usage: check_wheel.py WHEEL WHEEL_OF_THE_LABORATORY [WHEEL_OF_THE_RELAY], which only Linux has
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

READ = """
import sys
import arrowroot as ar
with ar.open(sys.argv[1]) as file:
    table = file["events"].to_arrow()
assert table["number"].to_pylist() == list(range(350)), "number differs"
assert table["price"].to_pylist() == [i / 2 for i in range(350)], "price differs"
assert table["text"].to_pylist() == [str(i) for i in range(350)], "text differs"
print("read", table.num_rows, "entries of", table.num_columns, "columns with arrowroot", ar.__version__)
"""
FILE = Path(__file__).parents[1] / "tests" / "fixtures" / "events.root"
MOST_BYTES = 8_000_000
#: The relay is a small program, and all that its wheel has.
MOST_BYTES_OF_RELAY = 1_000_000
RELAY = """
from arrowroot_servers import Relay, relay_program
with Relay(1) as relay:
    relay.link(20, 100, handshake=True)
    assert relay.counts().connections == 0
print("the relay is", relay_program())
"""


def check_content(wheel: Path) -> None:
    """Fail if the wheel lacks what users need, or carries what they do not."""
    names = zipfile.ZipFile(wheel).namelist()
    problems = [] if "-abi3-" in wheel.name else [f"{wheel.name} is no abi3 wheel"]
    problems += [
        f"{wanted} is missing"
        for wanted in ("arrowroot/__init__.py", "arrowroot/py.typed", "arrowroot/_native.pyi")
        if wanted not in names
    ]
    for part in ("arrowroot/_native.abi3.so", ".dist-info/licenses/LICENSE", ".dist-info/entry_points.txt"):
        if sum(name.endswith(part) for name in names) != 1:
            problems.append(f"wanted one {part}")
    # maturin would put system libraries it had to bundle into "arrowroot.libs": there should be none.
    problems += [
        f"{name} should not be in it"
        for name in names
        if (not name.startswith("arrowroot/") and ".dist-info/" not in name) or "__pycache__" in name
    ]
    if wheel.stat().st_size > MOST_BYTES:
        problems.append(
            f"it has {wheel.stat().st_size / 1e6:.1f} MB, and {MOST_BYTES / 1e6:.0f} are the most"
        )
    if problems:
        sys.exit(f"check_wheel.py: {wheel.name}: {'; '.join(problems)}")


def audit(wheel: Path) -> None:
    """Fail if a wheel of Linux needs a newer system than its name says, as auditwheel finds."""
    platform = wheel.stem.rpartition("-")[2]
    if "linux" not in platform:
        return
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[
        "overall_tag"
    ]
    needs, says = (re.search(r"manylinux_(\d+)_(\d+)_", tag) for tag in (found, platform))
    if not needs or not says or [*map(int, needs.groups())] > [*map(int, says.groups())]:
        sys.exit(f"check_wheel.py: {wheel.name}: auditwheel finds that it is of {found}")


def check_laboratory(wheel: Path) -> None:
    """Fail if the laboratory's wheel lacks what is no Python."""
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("arrowroot_lab/py.typed", "arrowroot_lab/pages/templates/", "arrowroot_servers/loopback.c"):
        if not any(part in name for name in names):
            sys.exit(f"check_wheel.py: {wheel.name}: {part} is missing")


def check_relay(wheel: Path) -> None:
    """Fail if the relay's wheel is for one Python, is large, or holds more than the program."""
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    if "-py3-none-" not in wheel.name or wheel.stat().st_size > MOST_BYTES_OF_RELAY:
        sys.exit(
            f"check_wheel.py: {wheel.name}, {wheel.stat().st_size:,} bytes: it is no small wheel of a program"
        )
    if [Path(name).name for name in names] != ["arrowroot-relay"]:
        sys.exit(f"check_wheel.py: {wheel.name}: it holds {', '.join(names)}")


def main() -> None:
    """Check the wheels named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("laboratory", type=Path)
    parser.add_argument("relay", type=Path, nargs="?")
    options = parser.parse_args()
    wheel, laboratory = options.wheel.resolve(), options.laboratory.resolve()
    check_content(wheel)
    audit(wheel)
    check_laboratory(laboratory)
    if options.relay is not None:
        check_relay(options.relay)
        audit(options.relay)
    # Nothing of this environment or of the source tree may help.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    with tempfile.TemporaryDirectory(prefix="arrowroot-wheel-") as folder:
        clean = Path(folder)
        venv.create(clean / "venv", with_pip=True)

        def run(program: str, *arguments: str) -> None:
            print("$", program, *(a if "\n" not in a else "..." for a in arguments), flush=True)
            command = [str(clean / "venv" / "bin" / program), *arguments]
            status = subprocess.run(command, check=False, cwd=clean, env=environment).returncode
            if status != 0:
                sys.exit(f"check_wheel.py: that failed with status {status}")

        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
        run("arrowroot", "--version")
        run("arrowroot", "ls", str(FILE))
        run("python", "-c", READ, str(FILE))
        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(laboratory))
        run("arrowroot", "lab", "--help")
        run("python", "-c", "from arrowroot_lab.store import Store; Store.open('lab.db').close()")
        run("arrowroot", "lab", "show", "--db", "lab.db")
        run(
            "arrowroot", "lab", "publish", "pages", "--db", "lab.db"
        )  # of the classics, too, whose parts are no Python
        if options.relay is not None:
            relay = str(options.relay.resolve())
            run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", relay)
            run("python", "-c", RELAY)
    print(
        f"wheel: {wheel.relative_to(Path.cwd()) if wheel.is_relative_to(Path.cwd()) else wheel}, "
        f"{wheel.stat().st_size / 1e6:.1f} MB, and {laboratory.name} work in a clean environment"
    )


if __name__ == "__main__":
    main()
