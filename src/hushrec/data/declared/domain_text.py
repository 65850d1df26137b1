"""The short description of a domain that its ``repr`` and notebooks show."""

from typing import Any

from hushrec.figures import above

__all__ = ["domain_text"]


def domain_text(domain: Any) -> str:
    """Describe a ``Domain`` in one line: catalogue, feedback, bounds, expected numbers, roster."""
    feedback, records = "interactions", "interactions"
    if domain.likes is not None:
        records = "likes"
        feedback = f"likes: ratings of at least {domain.likes:g} on the scale {domain.rating_scale}"
    elif domain.rating_scale is not None:
        feedback, records = f"scale {domain.rating_scale}", "ratings"
    elif domain.counts is not None:
        feedback = f"interactions counted up to {domain.counts}"
    roster = f", roster of {domain.n_users:,} people" if domain.users else ""
    listed = ", ".join(
        f"{name} ε = {above(epsilon)}" for name, epsilon in (domain.personal_epsilon or {}).items()
    )
    personal_epsilon = f", classes {listed}" if listed else ""
    hints = "".join(
        f", about {number:,} {what}"
        for number, what in ((domain.expected_users, "users"), (domain.expected_records, records))
        if number
    )
    return (
        f"{domain.n_items} items, {feedback}, cap {domain.max_per_user}, "
        f"at most {domain.max_users} users{hints}{roster}{personal_epsilon}{', titles' * bool(domain.titles)}"
    )
