from support.worlds import listed, listed_rmse, ratings, rmse, world

__all__ = ["listed", "listed_rmse", "ratings", "rmse", "world"]
