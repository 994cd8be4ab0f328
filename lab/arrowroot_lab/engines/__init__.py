"""Engines: programs at a process line, their contract, and the environments that they are built into."""
