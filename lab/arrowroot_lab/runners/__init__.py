"""The programs that are measured, each a thin one; only they import an engine."""
