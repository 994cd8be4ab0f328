"""Layouts: all that can be chosen of how a table is stored, and what it means for each column."""
