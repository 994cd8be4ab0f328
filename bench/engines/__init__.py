"""Engines that are Python: each is a program at the process line of ../README.md."""
