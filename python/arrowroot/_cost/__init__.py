"""What a pass plans to read, and what it has cost."""
