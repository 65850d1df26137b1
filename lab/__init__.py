"""The laboratory: what papers print, made again and measured. It uses hushrec, and is no part of it."""
