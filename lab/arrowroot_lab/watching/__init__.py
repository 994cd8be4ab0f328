"""Watching: a run is checked against a baseline, and a campaign is repeated, by the clock or for each new commit."""
