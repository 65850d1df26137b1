"""The expected numbers of people and of ratings, which are public.

A crowd is declared, never read off the data. It need not be exact.
"""

from typing import NamedTuple

USUAL = 50
"""Ratings or interactions per person that are assumed where nothing is declared: chosen by hand."""

__all__ = ["USUAL", "Crowd"]


class Crowd(NamedTuple):
    """A declared crowd, by which models divide a budget and choose clips, ranks and epochs.

    Attributes:
        users: about how many people take part.
        ratings: about how many ratings, or interactions, they give in all.
        declared: True if both were declared; otherwise they follow from the bound on users.
    """

    users: float
    ratings: float
    declared: bool

    @property
    def each(self) -> float:
        """Ratings, or interactions, per person."""
        return self.ratings / self.users

    def in_words(self, feedback: str) -> str:
        """Describe the numbers of people and of entries per person; say so if they are assumed.

        Args:
            feedback: ratings or interactions.
        """
        size = f"{self.users:,.0f} users with {self.each:,.3g} {feedback} each"
        if self.declared:
            return f"about {size}"
        return f"{size} (assumed: declare expected_users and expected_records)"

    @classmethod
    def of(cls, users: int | None, ratings: int | None, max_users: int, most: int) -> "Crowd":
        """Return the declared crowd, with missing numbers derived from the bounds.

        Args:
            users, ratings: as declared, or None.
            max_users: the bound on the number of people.
            most: the most ratings of one person that count.
        """
        people = float(users or max_users)
        n_ratings = float(ratings or people * min(USUAL, most))
        return cls(people, n_ratings, users is not None and ratings is not None)
