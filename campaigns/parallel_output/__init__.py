"""Parallel output: what streams lose by waiting for the one file that all of them write."""
