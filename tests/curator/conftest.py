from support.worlds import budget, ratings, world

__all__ = ["budget", "ratings", "world"]
