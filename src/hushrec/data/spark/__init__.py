"""Ratings or interactions in a Spark cluster, cleaned and kept there person by person."""
