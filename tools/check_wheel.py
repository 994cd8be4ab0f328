"""Try the wheels where nothing else is installed: look into them, install them, run their commands, read a file.

The file is written here, by uproot; the clean environment has the wheels and their dependencies only.

usage: check_wheel.py WHEEL WHEEL_OF_THE_LABORATORY
"""

from __future__ import annotations

import argparse
import os
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
    table = file["Events"].to_arrow()
assert table.num_rows == 1000, table.num_rows
assert table["x"].to_pylist() == [i / 2 for i in range(1000)], "x differs"
assert table["n"].to_pylist() == list(range(1000)), "n differs"
print("read", table.num_rows, "entries of", table.num_columns, "columns with arrowroot", ar.__version__)
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
    if problems:
        sys.exit("check_wheel.py: " + "; ".join(problems))


def check_laboratory(wheel: Path) -> None:
    """Fail if the laboratory's wheel lacks what is no Python."""
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("arrowroot_lab/py.typed", "arrowroot_lab/pages/templates/", "arrowroot_servers/loopback.c"):
        if not any(part in name for name in names):
            sys.exit(f"check_wheel.py: {wheel.name}: {part} is missing")


def write_file(path: Path) -> None:
    """Write a tree of two columns and 1000 entries."""
    import numpy as np  # noqa: PLC0415  # the checks of the wheel itself need none of them
    import uproot  # noqa: PLC0415  # likewise

    with uproot.recreate(path) as file:
        tree = file.mktree("Events", {"x": "float32", "n": "int32"})
        tree.extend({"x": np.arange(1000, dtype=np.float32) / 2, "n": np.arange(1000, dtype=np.int32)})


def main() -> None:
    """Check the wheels named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("laboratory", type=Path)
    options = parser.parse_args()
    wheel, laboratory = options.wheel.resolve(), options.laboratory.resolve()
    check_content(wheel)
    check_laboratory(laboratory)
    # Nothing of this environment or of the source tree may help.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    with tempfile.TemporaryDirectory(prefix="arrowroot-wheel-") as folder:
        clean = Path(folder)
        file = clean / "file.root"
        write_file(file)
        venv.create(clean / "venv", with_pip=True)

        def run(program: str, *arguments: str) -> None:
            print("$", program, *(a if "\n" not in a else "..." for a in arguments), flush=True)
            command = [str(clean / "venv" / "bin" / program), *arguments]
            status = subprocess.run(command, check=False, cwd=clean, env=environment).returncode
            if status != 0:
                sys.exit(f"check_wheel.py: that failed with status {status}")

        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
        run("arrowroot", "--version")
        run("arrowroot", "ls", file.name)
        run("python", "-c", READ, file.name)
        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(laboratory))
        run("arrowroot", "lab", "--help")
        run("python", "-c", "from arrowroot_lab.store import Store; Store.open('lab.db').close()")
        run("arrowroot", "lab", "show", "--db", "lab.db")
        run(
            "arrowroot", "lab", "publish", "pages", "--db", "lab.db"
        )  # of the classics, too, whose parts are no Python
    print(
        f"wheel: {wheel.relative_to(Path.cwd()) if wheel.is_relative_to(Path.cwd()) else wheel}, "
        f"{wheel.stat().st_size / 1e6:.1f} MB, and {laboratory.name} work in a clean environment"
    )


if __name__ == "__main__":
    main()
