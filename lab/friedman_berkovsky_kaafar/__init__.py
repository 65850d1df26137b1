"""Friedman, Berkovsky & Kaafar 2016 as printed, its tables made again, and what is wrong in it."""
