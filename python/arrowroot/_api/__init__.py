"""The API that people import: files, trees, columns, scans and chains of files."""
