"""Conditions: their grammar, and what they mean on Arrow arrays."""
