"""From a noisy covariance and noisy weights to item factors: cleaning, with the known noise."""
