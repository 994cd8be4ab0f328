"""Published analyses, as a user writes them here, beside what RDataFrame gives for the same files."""
