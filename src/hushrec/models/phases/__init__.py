"""Phases that several models share: each measures private sums and estimates parameters from them."""
