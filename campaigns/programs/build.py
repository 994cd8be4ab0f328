"""Compiles the generators, ROOT as a peer and the limit: ``build.py [NAME ...]``; quick when it is done.

ROOT is the wheel of this environment. Each program is compiled anew when a source or its command changes. The script
needs a compiler, and nothing of the repository but the files beside it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_servers import NotInstalledError, find_program

if TYPE_CHECKING:
    from collections.abc import Collection

PROGRAMS = Path(__file__).resolve().parent
#: Programs and data, which all checkouts share: 8 GB at scale 1.
CACHE = Path(os.environ.get("ARROWROOT_BENCH") or Path.home() / ".cache" / "arrowroot-bench").resolve()
BIN = CACHE / "bin"
HEADERS = {
    "libdeflate.h": "libdeflate-dev", "zstd.h": "libzstd-dev", "lz4.h": "liblz4-dev", "lzma.h": "liblzma-dev",
}  # fmt: skip
WITH_ROOT = (
    "read_ttree", "read_rntuple", "open_root", "recompress", "generate_nano", "generate_flat", "write_columns",
    "write_parallel",
)  # fmt: skip
#: Vectors of objects need a dictionary of their class.
WITH_OBJECTS = ("read_aod", "generate_aod")
#: It decompresses, by the codecs' own libraries.
LIMIT = "limit_read"
ALL = (*WITH_ROOT, *WITH_OBJECTS, LIMIT)
LIBRARIES = (
    "Core", "RIO", "Tree", "TreePlayer", "ROOTNTuple", "ROOTNTupleUtil", "ROOTVecOps", "Hist", "MathCore",
    "Net", "Thread", "Imt",
)  # fmt: skip


def prepare(wanted: Collection[str] = ALL) -> None:
    """Compile what is missing or changed. Raises: NotInstalledError without a compiler, ROOT or a codec's library."""
    BIN.mkdir(parents=True, exist_ok=True)
    compiler = [find_program(os.environ.get("CXX", "g++"), "g++"), "-std=c++17", "-pthread"]
    found = find_spec("ROOT")
    root = Path(found.origin).parent if found is not None and found.origin else None
    if root is None or not (root / "include").exists():
        raise NotInstalledError(
            f"ROOT's wheel is not in this environment: {sys.executable} -m pip install --pre ROOT"
        )
    include = f"-I{root / 'include'}"
    with_root = [*compiler, "-O2", include]
    shared = root.parent / "root.libs"
    paths = (root / "lib", shared, BIN)
    linked = [
        f"-L{root / 'lib'}", f"-L{BIN}", *(f"-Wl,-rpath,{path}" for path in paths), "-Wl,--allow-shlib-undefined",
        *(f"-l{name}" for name in LIBRARIES),
    ]  # fmt: skip
    for name in (one for one in WITH_ROOT if one in wanted):
        _build(name, [*with_root, _source(name), "-o", _made(name), *linked])
    if of_objects := [one for one in WITH_OBJECTS if one in wanted]:
        environment = os.environ | {"LD_LIBRARY_PATH": f"{root / 'lib'}:{shared}"}
        # The dictionary's second file is named after the first, and found by that name: it is made in its place.
        _build("AodDict.cxx", [str(root / "bin" / "rootcling"), "-f", str(BIN / "AodDict.cxx"), include, "Aod.h",
                               "AodLinkDef.h"], environment)  # fmt: skip
        sources = [f"-I{PROGRAMS}", str(BIN / "AodDict.cxx")]
        _build("libAod.so", [*with_root, "-fPIC", "-shared", *sources, "-o", _made("libAod.so"), *linked])
        for name in of_objects:
            of_dictionary = ["-Wl,--no-as-needed", "-lAod", *linked]
            _build(name, [*with_root, _source(name), "-o", _made(name), *of_dictionary])
    if LIMIT in wanted:
        for header, package in HEADERS.items():
            done = subprocess.run([compiler[0], "-E", "-x", "c++", "-"], input=f"#include <{header}>\n", text=True,
                                  capture_output=True, check=False)  # fmt: skip
            if done.returncode:
                raise NotInstalledError(f"{header} is missing: apt install {package}")
        codecs = ["-ldeflate", "-lzstd", "-llz4", "-llzma"]
        native = [*compiler, "-O3", "-march=native", include]  # its header of JSON
        _build(LIMIT, [*native, _source(LIMIT), "-o", _made(LIMIT), *codecs])


def _source(name: str) -> str:
    return str(PROGRAMS / f"{name}.cxx")


def _made(name: str) -> str:
    """Where a program is compiled to, before it is put in its place."""
    return str(BIN / f"new-{os.getpid()}-{name}")


def _build(name: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a compiler, unless headers, source and command are those of the last time."""
    paths = [path for path in PROGRAMS.iterdir() if path.suffix in (".hxx", ".h") or path.stem == name]
    sources = b"".join(path.read_bytes() for path in sorted(paths))
    told = " ".join(command).replace(f"new-{os.getpid()}-", "")
    wanted = hashlib.sha256(sources + told.encode()).hexdigest()
    stamp = BIN / f".{name}.stamp"
    if (BIN / name).exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"compiling {name}", flush=True)
    done = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{name} does not compile:\n{done.stderr[-3000:]}")
    if (made := Path(_made(name))).exists():
        made.replace(BIN / name)
    stamp.write_text(wanted)


def main() -> None:
    """Compile the programs that are named, else all."""
    try:
        prepare(sys.argv[1:] or ALL)
    except NotInstalledError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
