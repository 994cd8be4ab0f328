"""Passes over data: one tree, friends side by side, files in a row, the entries that a filter selects."""
