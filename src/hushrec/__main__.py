"""``python -m hushrec``: the command line."""

from hushrec.cli import main

main()
