from support.releases import _ranker, _release, _statement

__all__ = ["_ranker", "_release", "_statement"]
