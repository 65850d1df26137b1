"""What wraps a table: zip archives and Arrow buffers, whose sizes are known before they are unpacked."""
