"""How reading and writing scale with threads, and what of them one thread does alone."""
