"""What a domain declares: each fact with its checks, and all of them in words."""
