"""The store: documents in a database, and the views of it.

``Store.open`` opens or makes one. Its views ``results``, ``samples``, ``counters`` and ``newest_results`` are for
whoever mines without this package (docs/lab/documents.md); its tables are not.
"""

from __future__ import annotations

from .accepted import Accepted
from .filters import Filter
from .store import Store
from .summary import Summary, summary_of
from .taken import Taken

__all__ = ["Accepted", "Filter", "Store", "Summary", "Taken", "summary_of"]
