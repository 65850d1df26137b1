"""What tests of several folders share: values and plain functions. Fixtures stand in ``conftest.py``."""
