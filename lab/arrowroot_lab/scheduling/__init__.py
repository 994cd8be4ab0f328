"""Scheduling: where a job would run best, from what was measured over storages and lines (docs/lab/watch.md)."""
