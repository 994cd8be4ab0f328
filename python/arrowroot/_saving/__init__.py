"""Files of our own: written whole or not at all, one writer at a time, with a checksum."""
