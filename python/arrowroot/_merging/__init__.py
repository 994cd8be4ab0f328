"""Files merged into one, or into several."""
