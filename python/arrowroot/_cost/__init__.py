"""The plan of a pass, and its cost."""
