from support.worlds import ratings

__all__ = ["ratings"]
