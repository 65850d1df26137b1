"""Du, Leighton & Patel 2019 as printed, its table and attack made again, and what is wrong in it."""
