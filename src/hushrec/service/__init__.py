"""The service: signed releases, their statements and the page, as static files. It holds no private data."""
