"""`python -m pater` is `pater`."""

from pater.cli import main

main()
