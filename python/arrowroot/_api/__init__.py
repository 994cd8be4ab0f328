"""What people import: files, trees, columns, scans and chains of files."""
