"""What cleaning dropped or changed, for the curator alone."""
