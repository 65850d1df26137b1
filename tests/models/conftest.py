from support.chains import crowd
from support.neighbours import search
from support.worlds import budget, listed, listed_rmse, ratings, rmse, world

__all__ = ["budget", "crowd", "listed", "listed_rmse", "ratings", "rmse", "search", "world"]
