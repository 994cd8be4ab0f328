"""Converting between ROOT, Parquet and Arrow IPC: what tables come from and go to, and whether they are the same."""
