"""NumPy's masked arrays, whose module takes longer to import than a small file to read."""

import sys


def is_masked(values: object) -> bool:
    """Return whether it is a masked array: there is none where the module was not imported."""
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(values, ma.MaskedArray)
