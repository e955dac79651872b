"""The command line: train, predict, look at and convert, from files to files."""

from gapfit.cli.main import main as main
