"""What leaves the building: one file and those who read it. NumPy and safetensors alone."""
