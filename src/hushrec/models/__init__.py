"""One recommender per file: what it measures, what that costs, and how it makes a release."""
