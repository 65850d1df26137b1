"""One recommender a file: what it measures, what that costs, and how it becomes a release."""
