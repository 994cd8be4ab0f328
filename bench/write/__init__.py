"""Measures writing: arrowroot beside the limit, ROOT and uproot (``python -m bench.write``)."""
