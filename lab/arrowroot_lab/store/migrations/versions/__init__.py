"""The steps, in the order of their names."""
