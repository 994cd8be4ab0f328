"""Vectors of ROOT's classes as records that the vector package knows: their numbers are those that ROOT computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from .compare import RootFiles

ak = pytest.importorskip("awkward")
vector = pytest.importorskip("vector")

MACRO = Path(__file__).with_name("write_vectors.C")
N_ENTRIES = 7
#: The names of the records, and what the macro says of each, in its order.
OF_MOMENTA, OF_PLACES, OF_PLANES = ("pt", "eta", "phi", "E"), ("rho", "phi", "z"), ("rho", "phi")
BRANCHES = {
    "lorentz": ("Momentum4D", OF_MOMENTA),
    "three": ("Vector3D", OF_PLACES),
    "two": ("Vector2D", OF_PLANES),
    "ptm": ("Momentum4D", OF_MOMENTA),
    "pte": ("Momentum4D", OF_MOMENTA),
    "xyze": ("Momentum4D", OF_MOMENTA),
    "xyzm": ("Momentum4D", OF_MOMENTA),
    "xyz": ("Vector3D", OF_PLACES),
    "rhoeta": ("Vector3D", OF_PLACES),
    "rhoz": ("Vector3D", OF_PLACES),
    "xy": ("Vector2D", OF_PLANES),
    "polar": ("Vector2D", OF_PLANES),
    "many": ("Momentum4D", OF_MOMENTA),
    "clones": ("Momentum4D", OF_MOMENTA),
}
#: Double32_t of split vectors is a float in the file. An RNTuple has those whose fields ROOT makes.
FILES = {"0": [*BRANCHES], "1": [*BRANCHES], "99": [*BRANCHES], "ntuple": ["ptm", "xyz", "many"]}


@pytest.fixture(scope="module")
def vector_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    directory = tmp_path_factory.mktemp("vectors")
    calls = [
        (
            "ar.write_ntuple" if name == "ntuple" else "ar.write",
            f"{name}.root",
            N_ENTRIES,
            int(name) if name.isdigit() else 0,
        )
        for name in FILES
    ]
    return RootFiles(directory, dict(zip(FILES, root.interpreted(directory, MACRO, *calls), strict=True)))


@pytest.mark.parametrize(
    ("name", "branch"), [(name, branch) for name, has in FILES.items() for branch in has]
)
def test_roots_vectors_have_the_behaviours_of_the_vector_package(
    vector_files: RootFiles, name: str, branch: str
) -> None:
    vector.register_awkward()
    record, numbers = BRANCHES[branch]
    tree = ar.open(vector_files.directory / f"{name}.root")["T"]
    column = tree.to_awkward(objects=True)[branch]
    assert column.layout.purelist_parameter("__record__") == record
    lines = vector_files.expected[name][[*BRANCHES].index(branch) :: len(BRANCHES)]
    wanted = np.array(" ".join(lines).split(), float).reshape(-1, len(numbers))
    for at, number in enumerate(numbers):
        found = ak.to_numpy(ak.flatten(getattr(column, number), axis=None))
        np.testing.assert_allclose(found, wanted[:, at], rtol=1e-6, atol=1e-6, err_msg=number)
