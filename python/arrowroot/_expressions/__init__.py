"""Expressions in text: their grammar, and what they mean on Arrow arrays; for filters, definitions and histograms."""
