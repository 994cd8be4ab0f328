"""Which columns, entries and events are chosen."""
