"""Figures: SVG that is drawn here, each with its table."""
