"""NumPy's masked arrays, whose module takes longer to import than a small file to read."""

import sys


def is_masked(values: object) -> bool:
    """Return whether it is a masked array: there is none where the module was not imported."""
    # Another thread may be importing it at this moment, and has none either.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(values, masked)
