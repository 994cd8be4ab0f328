"""The tables and pictures of README and docs, made of the laboratory's results: ``make figures``."""
