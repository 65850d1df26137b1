"""The costs of measurements and the noise that a budget buys: no noise, no data, no files."""
