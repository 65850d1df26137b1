"""The service: a static site, and lists from its latest release. It holds no private data, and keeps none."""
