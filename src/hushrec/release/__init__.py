"""What is published: the release file, its statement, and its readers. Needs only NumPy and safetensors.

Privacy: public where nothing else is said.
"""
