"""Samples: data that look like those of experiments, made from a seed, the same on every machine."""
