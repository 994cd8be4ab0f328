"""Many histograms in one pass: what each is of, and how batches fill them."""
