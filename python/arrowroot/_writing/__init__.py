"""Writing: from what people have to Arrow, and from there to a file."""
