from support.worlds import budget, listed, listed_rmse, rmse, world

__all__ = ["budget", "listed", "listed_rmse", "rmse", "world"]
