from support.releases import _opened, _ranker, _release, _statement, _used, forged, kind

__all__ = ["_opened", "_ranker", "_release", "_statement", "_used", "forged", "kind"]
