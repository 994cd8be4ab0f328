"""A change beside the commit before it, and programs that the campaigns start: ``campaigns/METHODOLOGY.md``."""
