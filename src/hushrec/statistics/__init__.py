"""Private sums over ratings, each with the bound that its noise is calibrated to."""
