"""What a source looks like, for the curator alone, before anything is charged."""
