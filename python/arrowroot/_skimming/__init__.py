"""Skimming: chosen entries and columns of many files to one file or several, in one pass."""
