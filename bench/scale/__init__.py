"""Whether more threads gain what they could: parts that one thread does alone are counted and named."""
