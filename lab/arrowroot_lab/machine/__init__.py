"""The machine: its fingerprint, what happens on it meanwhile, its page cache, the control kernel."""
