"""Arrow arrays, and what becomes of them in other libraries."""
