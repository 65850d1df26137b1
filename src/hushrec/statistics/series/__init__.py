"""Private sums for releases that repeat: every record counts by how long ago it came."""
