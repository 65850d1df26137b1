from support.releases import _opened, _release, _statement, _used, forged, kind

__all__ = ["_opened", "_release", "_statement", "_used", "forged", "kind"]
