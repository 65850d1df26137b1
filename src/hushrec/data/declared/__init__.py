"""What a domain declares: each fact with its checks, and all of them in words.

Privacy: public where nothing else is said.
"""
