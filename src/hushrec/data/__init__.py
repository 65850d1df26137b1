"""From files to immutable ratings: the declared public domain, the private ratings, cleaning and splits."""
