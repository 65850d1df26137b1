"""The papers' tables on real ratings: one module a paper, which runs it and writes its results page."""
