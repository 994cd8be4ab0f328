"""Storages: where data are read from, the servers that are started for it, and the line before them."""
