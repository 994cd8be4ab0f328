import importlib
import subprocess
import sys

import pytest

import arrowroot
from arrowroot import _native


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


#: All of the package that opening and reading a tree may load; a room's own name is that of its ``__init__``.
OPENING_AND_READING = """
    _arguments _attributes
    _api _api.chain _api.column _api.file _api.opening _api.scan _api.tree _api.tree_metadata
    _arrow _arrow.chunks _arrow.convert _arrow.masks
    _errors _native _objects _objects.record _options _passes _passes.source _render
    _select _select.columns _select.entries _select.events _select.globs _select.ids _select.indexed _sizes
    _storage _storage.config _storage.in_hand _storage.readers _storage.url
"""
#: The modules of the standard library that they may bring: typing has most of it.
STANDARD = """
    __future__ _collections _functools _operator _sre _typing atexit collections contextlib copyreg enum fnmatch
    functools itertools keyword math operator re reprlib types typing warnings
"""


#: What the help has besides: the commands' options, not what they do, and argparse with what it brings.
OPTIONS = """
    _hint_tables _hints _terminal cli cli.answers cli.arguments cli.failures cli.installed cli.lines cli.option_answers
    cli.parser cli.parser_skim cli.parser_study cli.parser_write
"""
OF_ARGPARSE = """
    _bz2 _compression _locale _lzma argparse bz2 errno gettext importlib locale lzma shlex shutil textwrap zlib
"""


@pytest.mark.parametrize(
    ("code", "of_ours", "others"),
    [
        ("import arrowroot", OPENING_AND_READING, STANDARD),
        (
            "from arrowroot.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
            OPENING_AND_READING + OPTIONS,
            STANDARD + OF_ARGPARSE,
        ),
    ],
    ids=["import", "help"],
)
def test_no_more_is_loaded_than_it_takes(code, of_ours, others):
    out = run(
        f"import sys; before = set(sys.modules)\n{code}\n"
        "print(*sorted(set(sys.modules) - before - {'arrowroot'}))"
    )
    names = set(out.stdout.splitlines()[-1].split())
    ours = {name for name in names if name.startswith("arrowroot.")}
    assert ours == {f"arrowroot.{name}" for name in of_ours.split()}
    assert {name.partition(".")[0] for name in names - ours} <= set(others.split())


def test_a_scan_of_a_range_needs_neither_pyarrow_nor_numpy(sample):
    out = run(
        f"import sys, arrowroot as ar; ar.open({str(sample[0])!r})['Events'].scan(entries=slice(0, 9)).drain();"
        "print({'numpy', 'pyarrow'} & set(sys.modules))"
    )
    assert out.stdout.strip() == "set()"


def test_entry_numbers_and_arrays_of_several_chunks_need_no_masked_arrays(sample):
    out = run(
        "import sys, numpy as np, arrowroot as ar;"
        "before = 'numpy.ma' in sys.modules;"  # NumPy 1 imports it by itself
        f"tree = ar.open({str(sample[0])!r})['Events'];"
        "tree.to_arrow('weight', entries=np.array([1, 2]));"
        "tree.scan('weight', batch_size='1 kB').to_numpy();"
        "print(before == ('numpy.ma' in sys.modules))"
    )
    assert out.stdout.strip() == "True"


@pytest.mark.parametrize(
    "arguments", [("perf", "{file}", "--trace", "t.parquet"), ("skim", "{file}", "o.root")]
)
def test_a_command_has_no_use_for_pandas(sample, tmp_path, arguments):
    words = [word.format(file=sample[0]) for word in arguments]
    command = [sys.executable, "-X", "importtime", "-m", "arrowroot", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"numpy", "pyarrow"} <= imported
    assert not {name for name in imported if name.startswith("pandas.")}


def test_a_debug_build_warns(monkeypatch):
    # It is loaded anew, and keeps what it saw.
    monkeypatch.setattr(arrowroot, "debug_build", arrowroot.debug_build)
    monkeypatch.setattr(_native, "debug_build", True)
    with pytest.warns(UserWarning, match="debug build"):
        importlib.reload(arrowroot)


def test_the_version_is_that_of_the_engine():
    assert arrowroot.__version__ == _native.__version__
    assert set(arrowroot.__all__) <= set(dir(arrowroot))
