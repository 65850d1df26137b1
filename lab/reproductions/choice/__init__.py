"""The recommended model beside every other one on named data sets, and with what is public of items."""
