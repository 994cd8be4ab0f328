"""Measurements of arrowroot beside what is possible and beside its peers: README.md and METHODOLOGY.md."""
