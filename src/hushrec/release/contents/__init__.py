"""What a release holds: tensors by kind of predictor, the dimensions of taste in them, and titles."""
