"""Made-up titles for made-up items: no real work is meant.

Privacy: public.
"""

from collections.abc import Sequence
from typing import NamedTuple

_FIRST = (
    *("Amber", "Borrowed", "Bright", "Broken", "Crooked", "Distant", "Early", "Empty", "Folded", "Frozen"),
    *("Gentle", "Golden", "Hollow", "Idle", "Last", "Little", "Lost", "Low", "Narrow", "Northern"),
    *("Paper", "Patient", "Plain", "Quiet", "Restless", "Salt", "Second", "Secret", "Silver", "Slow"),
    *("Stolen", "Sudden", "Tall", "Tender", "Unsent", "Velvet", "Wandering", "Winter", "Wooden", "Yellow"),
)
_SECOND = (
    *("Afternoon", "Anchor", "Bridge", "Cartographer", "Choir", "Circus", "Compass", "Cousin", "Daughter"),
    *("Engine", "Garden", "Harbour", "Horizon", "House", "Island", "Kitchen", "Lantern", "Letter"),
    *("Lighthouse", "Meadow", "Mirror", "Neighbour", "Orchard", "Parade", "Passenger", "Piano", "Postcard"),
    *("Railway", "River", "Sailor", "Season", "Shadow", "Signal", "Sister", "Staircase", "Stranger"),
    *("Summer", "Tailor", "Violin", "Window"),
)
_GENRES = (
    "Adventure",
    "Comedy",
    "Crime",
    "Drama",
    "Family",
    "Fantasy",
    "Mystery",
    "Romance",
    "Thriller",
    "Western",
)
_YEARS = range(1950, 2020)
_STRIDE = 641
"""Coprime to the number of pairs of words, so that every pair is taken once, and neighbours share no word."""

__all__ = ["MadeUp", "made_up_titles"]


class MadeUp(NamedTuple):
    """What is made up of one item. Privacy: public."""

    item_id: str
    title: str
    year: str
    genres: str


def made_up_titles(items: Sequence[str]) -> list[MadeUp]:
    """A title, a year and two genres for each item, the same for the same items.

    Args:
        items: ids; from the 1,601st on, titles occur again.

    Privacy: public.
    """
    made = []
    for place, item in enumerate(items):
        first, second = divmod(place * _STRIDE % (len(_FIRST) * len(_SECOND)), len(_SECOND))
        genres = {_GENRES[first % len(_GENRES)], _GENRES[second % len(_GENRES)]}
        year = _YEARS[place * 37 % len(_YEARS)]
        made.append(MadeUp(item, f"{_FIRST[first]} {_SECOND[second]}", str(year), "|".join(sorted(genres))))
    return made
