"""Attacks on what is published, by somebody who holds the truth: they must succeed where nothing protects."""
