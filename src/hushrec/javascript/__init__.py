"""The client in JavaScript: ES modules without dependencies, for browsers and Node."""
