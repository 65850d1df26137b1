"""The declared public domain, the private ratings read from files, their cleaning and splits."""
