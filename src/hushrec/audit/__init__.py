"""Attacks on what is published, by somebody who knows the truth: they must succeed where nothing protects."""
