"""How good is a release? Everything here looks at held-out ratings, so nothing here is private."""
