from support.worlds import budget, listed, listed_rmse, ratings, rmse, world

__all__ = ["budget", "listed", "listed_rmse", "ratings", "rmse", "world"]
