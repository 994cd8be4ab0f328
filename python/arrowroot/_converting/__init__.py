"""Converting between ROOT and other formats: what tables come from and go to, and whether they are the same."""
