"""Where files are: URLs, options, credentials, and who reads."""
