"""`gapfit tag data -o model`: learn to label the tokens of sequences, or label them with a model."""

import warnings
from time import perf_counter
from typing import Any

import click
from sklearn.exceptions import ConvergenceWarning

from gapfit.cli.files import output_format, say
from gapfit.cli.progress import progress_line
from gapfit.cli.train import fields, last_line
from gapfit.datasets.conll import chunk_f1, read_conll, window_features
from gapfit.estimators import SequenceLabeler
from gapfit.persistence import load, save
from gapfit.solution import Status


@click.command()
@click.argument("data")
@click.option("-o", "--out", help="The model to write; with --predict the file of labels [default: -].")
@click.option("--predict", "model", metavar="MODEL", help="Label DATA with this model instead of training.")
@click.option("--unlabelled", is_flag=True, help="With --predict: DATA has no column of labels.")
@click.option("--loss", type=click.Choice(["crf", "margin"]), default="crf", show_default=True, help="Loss.")
@click.option("--penalty", type=click.Choice(["l2", "l1", "elastic_net"]), default="l2", help="Penalty.")
@click.option("--alpha", type=float, help="Weight of the penalty; the loss is a mean [default: 1e-4].")
@click.option("--c2", type=float, help="CRFsuite's c2 instead of alpha.")
@click.option(
    "-e", "--tol", type=float, default=1e-3, show_default=True, help="Relative duality gap to be certified."
)
@click.option("--max-iter", type=int, default=10_000, show_default=True, help="Limit on steps.")
@click.option("--max-time", type=float, help="Limit on seconds.")
@click.option("--n-jobs", type=int, help="Threads [default: one for each core, where that pays].")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no last lines.")
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
    if alpha is not None and c2 is not None:
        raise click.UsageError("--alpha and --c2 say the same thing twice; give one of them")
    alpha = 2 * c2 / len(X) if c2 is not None and X else alpha
    labeler = SequenceLabeler(alpha=1e-4 if alpha is None else alpha, **options)
    began = perf_counter()
    with warnings.catch_warnings(), progress_line(quiet=quiet):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last line and the exit code say it
        labeler.fit(X, sequences.labels)
    seconds = perf_counter() - began
    save(labeler, out)
    if not quiet:
        say(output, last_line(labeler, seconds), fields(labeler, seconds))
    return {Status.CERTIFIED: 0, Status.INTERRUPTED: 130}.get(labeler.status_, 2)


def _predict(X: Any, labels: Any, model: str, out: str, quiet: bool, output: str) -> int:
    labeler = load(model)
    if not isinstance(labeler, SequenceLabeler):
        raise click.UsageError(f"{model} holds a {type(labeler).__name__}; gapfit predict is for that")
    found = [own.tolist() for own in labeler.predict(X)]
    with click.open_file(out, "w", encoding="utf-8") as file:
        file.writelines("\n".join(own) + "\n\n" for own in found)
    if not quiet and out != "-":
        right = sum(
            a == b
            for ours, theirs in zip(found, labels, strict=True)
            for a, b in zip(ours, theirs, strict=True)
        )
        tokens = sum(map(len, labels))
        told = {"accuracy": right / tokens, "chunk_f1": chunk_f1(labels, found), "tokens": tokens}
        say(
            output,
            f"accuracy {told['accuracy']:.4f}, chunk F1 {told['chunk_f1']:.4f} on {tokens} tokens",
            told,
        )
    return 0
