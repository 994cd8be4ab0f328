"""Mining: one layer of queries for all faces."""
