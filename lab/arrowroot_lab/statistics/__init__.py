"""Statistics: bounds from pairs, and what they allow to say."""
