"""Pages: a static site, made of tables and figures."""
