"""The entry point: parse, run, and say by the exit code how it went."""

import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from gapfit.cli.compare import compare
from gapfit.cli.convert import convert
from gapfit.cli.info import info
from gapfit.cli.lab import lab
from gapfit.cli.predict import predict
from gapfit.cli.rank import rank
from gapfit.cli.tag import tag
from gapfit.cli.train import train
from gapfit.cli.versions import versions

OK, WRONG_INPUT, NOT_CONVERGED, INTERRUPTED = 0, 1, 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gapfit", prog_name="gapfit")
def gapfit() -> None:
    """Fit linear models and prove how close to optimal the fit is.

    Exit codes: 0 all is well; 1 the call or the data are wrong; 2 the fit did not reach its tolerance (the
    model is written all the same, with its gap); 130 interrupted.
    """


for command in (train, predict, rank, info, convert, compare, lab, tag, versions):
    gapfit.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; errors go to standard error, one sentence each."""
    try:
        code = gapfit.main(args=_class_weights(arguments), prog_name="gapfit", standalone_mode=False)
        return code if isinstance(code, int) else OK
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return WRONG_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nobody is left to be told
        return OK
    except (ValueError, TypeError, OSError, MemoryError) as error:
        click.echo(f"Error: {error or type(error).__name__}", err=True)
        return WRONG_INPUT


def _class_weights(arguments: Sequence[str]) -> list[str]:
    """liblinear's `-w1 5` (weight 5 for label 1) as `-w 1 5`."""
    split: list[str] = []
    for argument in arguments:
        found = re.fullmatch(r"-w([+-]?[0-9.]+)", argument)
        split += ["-w", found[1]] if found else [argument]
    return split
