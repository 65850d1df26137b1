"""What wraps a table's bytes: zip archives and Arrow's buffers, whose sizes are known before they are unpacked."""
