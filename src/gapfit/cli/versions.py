"""`gapfit versions`: what a report of a bug needs to say."""

import click

from gapfit.versions import show_versions


@click.command()
def versions() -> int:
    """Show the versions of gapfit, Python and what they rest on, BLAS and its threads."""
    show_versions()
    return 0
