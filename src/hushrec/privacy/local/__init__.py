"""One person's row, randomized by itself before anybody else sees it."""
