"""Ratings or interactions that exceed memory: folders of blocks, written once and mapped block by block."""
