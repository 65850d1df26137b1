"""Where private rows are, and how they are summed there: in memory, from block files, or in Spark."""
