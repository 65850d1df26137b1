"""McSherry & Mironov 2009 as printed, its figures made again, and what is wrong in it."""
