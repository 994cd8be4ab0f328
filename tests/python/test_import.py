import importlib
import subprocess
import sys

import pytest

import arrowroot
from arrowroot import _native


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_import_brings_nothing_heavy():
    out = run(
        "import sys, arrowroot;"
        "print({'numpy', 'pyarrow', 'pandas', 'matplotlib', 'argparse', 'dataclasses'} & set(sys.modules))"
    )
    assert out.stdout.strip() == "set()"


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


def test_a_debug_build_warns(monkeypatch):
    monkeypatch.setattr(_native, "debug_build", True)
    with pytest.warns(UserWarning, match="debug build"):
        importlib.reload(arrowroot)


def test_the_version_is_that_of_the_engine():
    assert arrowroot.__version__ == _native.__version__
    assert set(arrowroot.__all__) <= set(dir(arrowroot))
