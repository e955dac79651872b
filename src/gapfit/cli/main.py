"""The entry point: parse, run, and say by the exit code how it went."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from gapfit.names import meant

# What each command is for, told without loading it: a command loads what it fits with.
COMMANDS = {
    "train": "Fit a model to DATA and write it to MODEL.",
    "predict": "Predict DATA with MODEL and write one line a row to OUT (- is standard output).",
    "rank": "Learn to rank DATA and write the model, or rank DATA with a model and write one score a line.",
    "tag": "Learn to label the sequences in DATA and write the model, or label DATA with a model.",
    "info": "Show the parameters of MODEL, its certificate and its largest weights.",
    "report": "Write a page about MODEL and what it does on DATA to OUT [default: report.html].",
    "convert": "Read SOURCE and write OUT: svmlight, CSV, npz or Parquet, by their names "
    "(- is a standard stream).",
    "shard": "Convert SOURCE, of any size, to a folder OUT of shards that fits read from disk.",
    "compare": "Race every applicable solver on DATA: certified gap against time, "
    "in one picture and one table.",
    "lab": "Run the papers behind gapfit: their theorems and their experiments.",
    "warmup": "Compile ahead what first fits would compile, for images and read-only installations.",
    "versions": "Show the versions of gapfit, Python and what they rest on, BLAS and its threads.",
}

OK, WRONG_INPUT, NOT_CONVERGED, INTERRUPTED = 0, 1, 2, 130


class Commands(click.Group):
    """Commands by their names; each is the function of that name in the module of that name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"gapfit.cli.{name}"), name)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            guess = meant(args[0], COMMANDS)
            raise click.UsageError(
                f"there is no command {args[0]!r}{guess or '; gapfit --help lists them'}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gapfit", prog_name="gapfit")
def gapfit() -> None:
    """Fit linear models and prove how close to optimal the fit is.

    Exit codes: 0 all is well; 1 the call or the data are wrong; 2 the fit did not reach its tolerance (the
    model is written all the same, with its gap); 130 interrupted.
    """


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
        click.echo(f"Error: {_spelt(str(error)) or type(error).__name__}", err=True)
        return WRONG_INPUT


def _spelt(message: str) -> str:
    """An error's advice in the words of the command line."""
    from gapfit.cli.files import SPELT

    for python, option in SPELT.items():
        message = re.sub(python, option, message)
    return message


def _class_weights(arguments: Sequence[str]) -> list[str]:
    """liblinear's `-w1 5` (weight 5 for label 1) as `-w 1 5`."""
    split: list[str] = []
    for argument in arguments:
        found = re.fullmatch(r"-w([+-]?[0-9.]+)", argument)
        split += ["-w", found[1]] if found else [argument]
    return split
