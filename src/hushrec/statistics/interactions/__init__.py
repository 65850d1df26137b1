"""Private sums of interactions: who gave which items, without any ratings."""
