"""A directory with arrowroot, the laboratory and a Python of its own, and its tarball: it may lie anywhere, read-only.

``relocatable.py OUT WHEEL ...`` installs wheels, and what they need of PyPI, beside a copy of the Python that runs it.
Jobs need nothing else of a node than a C library as new as those of that Python and of the wheels: EL9 has glibc 2.34.
A Python of a prefix of its own is needed: pyenv, conda, or one of python-build-standalone, unpacked.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"
#: Of the standard library nobody needs these in a job.
LEFT_OUT = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "lib2to3",
    "ensurepip",
    "site-packages",
    "__pycache__",
)
PROGRAM = """\
#!/bin/sh
here=$(dirname "$(dirname "$(readlink -f "$0")")")
{shared}exec "$here/bin/{name}" -s -m {module} "$@"
"""
SHARED = 'export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'


def main(out: Path, wheels: list[str]) -> None:
    """Make the directory, try it from another place, and write the tarball beside it."""
    prefix = Path(sys.base_prefix)
    if prefix == Path("/usr"):
        raise SystemExit(
            "relocatable.py: the Python of /usr cannot be copied: run it by one of pyenv, conda, or "
            "python-build-standalone"
        )
    shutil.rmtree(out, ignore_errors=True)
    (out / "bin").mkdir(parents=True)
    shutil.copy2(prefix / "bin" / NAME, out / "bin" / NAME)
    standard = out / "lib" / NAME
    shutil.copytree(
        prefix / "lib" / NAME, standard, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT, "config-*")
    )
    for library in (prefix / "lib").glob("libpython*.so*"):
        shutil.copy2(library, out / "lib", follow_symlinks=False)
    site = standard / "site-packages"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-warn-script-location",
        "--target",
        str(site),
    ]
    subprocess.run([*install, *wheels], check=True)
    shutil.rmtree(site / "bin", ignore_errors=True)
    is_shared = bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))
    for name, module in (("arrowroot", "arrowroot"), ("arrowroot-lab", "arrowroot lab")):
        program = out / "bin" / name
        program.write_text(PROGRAM.format(shared=SHARED if is_shared else "", name=NAME, module=module))
        program.chmod(0o755)
    archive = out.with_name(f"{out.name}.tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(out, out.name)
    with tempfile.TemporaryDirectory() as elsewhere:
        with tarfile.open(archive) as tar:
            tar.extractall(elsewhere, filter="tar")
        for command in (["arrowroot", "--version"], ["arrowroot", "lab", "run", "--help"]):
            words = [str(Path(elsewhere, out.name, "bin", command[0])), *command[1:]]
            subprocess.run(words, check=True, env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.DEVNULL)
    sys.stdout.write(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB; {NAME}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
