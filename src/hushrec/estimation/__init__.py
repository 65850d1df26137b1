"""Public in, public out: estimates from released values. It reaches no ratings, ever."""
