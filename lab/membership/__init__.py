"""Membership inference: whether a person is among those whom a recommender was trained on."""
