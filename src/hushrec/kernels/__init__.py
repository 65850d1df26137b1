"""What compiled loops everywhere share: compilation, rows, choices. No files and no entropy of their own."""
