"""What people read about a release: blocks of facts, the sentences of a language in one file, four writers."""
