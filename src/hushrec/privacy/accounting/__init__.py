"""What a measurement costs and what a budget buys: no noise, no data, no files."""
