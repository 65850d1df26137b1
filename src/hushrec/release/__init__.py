"""Published files: the release, its statement, and its readers. Needs only NumPy and safetensors.

Privacy: public where nothing else is said.
"""
