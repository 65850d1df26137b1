"""From noisy counts and pairs of interactions to item factors, with what features of the items explain."""
