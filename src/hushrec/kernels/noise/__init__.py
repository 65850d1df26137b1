"""Loops that turn ChaCha20's uniform words into exact noise."""
