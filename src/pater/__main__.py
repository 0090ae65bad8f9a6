"""`python -m pater` is `pater`."""

from pater.cli import command

command()
