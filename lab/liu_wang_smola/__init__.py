"""Liu, Wang & Smola 2015 as printed, its figures made again, and what is wrong in it."""
