"""Campaigns: TOML read with places, and the matrix of cases that it makes."""
