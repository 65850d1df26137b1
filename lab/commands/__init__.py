"""The laboratory's command line: ``python -m lab``, from the root of the repository."""
