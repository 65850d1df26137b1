"""Contents of a release: tensors by kind of predictor, the dimensions of taste in them, and titles."""
