"""The store: documents in a database, and the views of it."""
