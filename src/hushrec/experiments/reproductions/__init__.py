"""Papers measured on real ratings, a module each: what is run, and how its page of docs/results is made."""
