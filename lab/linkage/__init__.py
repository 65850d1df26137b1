"""The linkage attack on released data: how many people are found again from a few known ratings."""
