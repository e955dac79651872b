"""`python -m gapfit`: the command line."""

from gapfit.cli import main

if __name__ == "__main__":
    main()
