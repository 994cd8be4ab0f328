"""Objects that are no trees: histograms, profiles, graphs, parameters, lists, and records of any class."""
