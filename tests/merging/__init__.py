"""Files merged: by us, by hadd, and read by ROOT and uproot."""
