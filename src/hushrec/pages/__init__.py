"""Pages that people look at in a browser, written from a release alone: recommendations and statement."""
