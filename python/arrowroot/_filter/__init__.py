"""Conditions on entries, bound to the columns of a tree."""
