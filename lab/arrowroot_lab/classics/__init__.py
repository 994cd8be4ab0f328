"""The classics: published figures beside those that are measured here."""
