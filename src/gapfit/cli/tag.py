"""`gapfit tag data -o model`: learn to label the tokens of sequences, or label them with a model."""

from itertools import chain
from typing import Any

import click

from gapfit.cli.files import output_format, say
from gapfit.cli.fitting import conclude, fields, last_line, watched
from gapfit.cli.options import alpha_option, limits, one_of, option, penalty_option
from gapfit.datasets.conll import chunk_f1, read_conll, window_features
from gapfit.estimators import SequenceLabeler
from gapfit.estimators.sequence import LOSSES
from gapfit.persistence import load


@click.command()
@click.argument("data")
@click.option("-o", "--out", help="The model to write; with --predict the file of labels [default: -].")
@click.option("--predict", "model", metavar="MODEL", help="Label DATA with this model instead of training.")
@click.option("--unlabelled", is_flag=True, help="With --predict: DATA has no column of labels.")
@option(SequenceLabeler, "loss", type=click.Choice(list(LOSSES)), help="Loss.")
@penalty_option
@alpha_option
@click.option("--c2", type=float, help="CRFsuite's c2 instead of alpha.")
@limits(SequenceLabeler)
@output_format
def tag(
    data: str,
    *,
    out: str | None,
    model: str | None,
    unlabelled: bool,
    alpha: float | None,
    c2: float | None,
    quiet: bool,
    output: str,
    **options: Any,
) -> int:
    """Learn to label the sequences in DATA and write the model, or label DATA with a model.

    DATA is a CoNLL column file: a token a line, the label in the last column, an empty line between
    sequences. Features are the columns in a window of two tokens to either side, and the shape of words.
    """
    sequences = read_conll(data, labelled=not unlabelled)
    X = [window_features(sequence) for sequence in sequences.tokens]
    if model is not None:
        return _predict(X, sequences.labels, model, out or "-", unlabelled or quiet, output)
    if out is None:
        raise click.UsageError("give -o MODEL, the file to write, or --predict MODEL, the one to label with")
    if unlabelled:
        raise click.UsageError("--unlabelled goes with --predict: training needs labels")
    one_of(alpha, c2, "--c2")
    alpha = 2 * c2 / len(X) if c2 is not None and X else alpha
    given = {"alpha": alpha, **options}
    labeler = SequenceLabeler(**{name: value for name, value in given.items() if value is not None})
    _, seconds = watched(lambda: labeler.fit(X, sequences.labels), quiet=quiet)
    words, facts = last_line(labeler, seconds), fields(labeler, seconds)
    return conclude(labeler, out, words, facts, quiet=quiet, output=output)


def _predict(X: Any, labels: Any, model: str, out: str, quiet: bool, output: str) -> int:
    labeler = load(model)
    if not isinstance(labeler, SequenceLabeler):
        raise click.UsageError(f"{model} holds a {type(labeler).__name__}; gapfit predict is for that")
    found = [own.tolist() for own in labeler.predict(X)]
    with click.open_file(out, "w", encoding="utf-8") as file:
        file.writelines("\n".join(own) + "\n\n" for own in found)
    if not quiet and out != "-":
        pairs = list(zip(chain(*found), chain(*labels), strict=True))
        told = {"accuracy": sum(a == b for a, b in pairs) / len(pairs), "chunk_f1": chunk_f1(labels, found)}
        words = "accuracy {accuracy:.4f}, chunk F1 {chunk_f1:.4f} on {tokens} tokens"
        told["tokens"] = len(pairs)
        say(output, words.format(**told), told)
    return 0
