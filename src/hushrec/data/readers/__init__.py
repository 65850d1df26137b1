"""From file formats to columns of text: readers know formats, never the domain."""
