"""Models beside each other and beside those of other packages: ratings, lists, synthetic people."""
