"""Facts, blocks and words: what people read about a release, said once and written four ways."""
