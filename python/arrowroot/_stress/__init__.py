"""Stress: how fast this machine and this version are, in one number (`arrowroot stress`)."""
