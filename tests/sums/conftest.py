from support.neighbours import search

__all__ = ["search"]
