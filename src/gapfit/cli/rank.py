"""`gapfit rank data -o model`: learn to rank the answers to queries, or rank them with a model."""

from typing import Any

import click
import numpy as np

from gapfit.cli.files import Named, Reading, check_place, output_format, reading, say
from gapfit.cli.fitting import conclude, fields, last_line, watched
from gapfit.cli.options import alpha_option, chosen_alpha, limits, option, penalty_option, solver_option
from gapfit.cli.predict import matched
from gapfit.cli.tables import Encoded
from gapfit.datasets import Data
from gapfit.estimators import Ranker
from gapfit.losses import NDCG, MeanAveragePrecision, PairwiseRanking
from gapfit.losses.queries import Queries
from gapfit.persistence import load
from gapfit.ranking_metrics import average_precision_per_query, ndcg_per_query


@click.command()
@click.argument("data")
@click.option("-o", "--out", help="The model to write; with --predict the file of scores [default: -].")
@click.option("--predict", "model", metavar="MODEL", help="Rank DATA with this model instead of training.")
@option(Ranker, "loss", type=Named(["pairwise", "ndcg", "map"]), help="Loss.")
@click.option(
    "--mean",
    type=Named(["pairs", "queries"]),
    default="pairs",
    show_default=True,
    help="What counts the same for --loss pairwise.",
)
@click.option("-k", type=int, default=10, show_default=True, help="Places that count: --loss ndcg, NDCG@k.")
@penalty_option
@alpha_option
@click.option("-c", "--cost", "C", type=float, help="SVM-Rank's C instead of alpha, for --loss pairwise.")
@option(Ranker, "positive")
@limits(Ranker)
@solver_option(Ranker)
@reading
@click.option("--qid", "query", metavar="NAME|NUMBER", help="Query column of a CSV or Parquet table.")
@output_format
def rank(
    data: str,
    *,
    out: str | None,
    model: str | None,
    k: int,
    quiet: bool,
    reading: Reading,
    query: str | None,
    output: str,
    **options: Any,
) -> int:
    """Learn to rank DATA and write the model, or rank DATA with a model and write one score a line.

    DATA is an svmlight file whose lines have a qid, as for SVM-Rank: relevance qid:1 1:0.5 3:2. Lines of one
    query need not be neighbours; without qid all are one query. Both ways end with the mean of NDCG@k and of
    the average precision over the queries that have a relevant document.
    """
    check_place(out or "-")
    samples = _read(data, reading, query)
    if model is not None:
        return _predict(samples, model, out or "-", k, quiet, output)
    if out is None:
        raise click.UsageError("give -o MODEL, the file to write, or --predict MODEL, the one to rank with")
    if samples.y is None:
        raise click.UsageError("the data hold no relevance; name its column with --target")
    ranker = make_ranker(samples, k=k, **options)
    _, seconds = watched(lambda: ranker.fit(samples.X, samples.y, qid=samples.qid), quiet=quiet)
    scores = ranker.predict(samples.X)
    measured = measure(samples, scores, k)
    words, facts = f"{last_line(ranker, seconds)}\n{in_words(measured)}", fields(ranker, seconds) | measured
    read = Encoded(samples, samples, None)
    return conclude(ranker, out, words, facts, read, quiet=quiet, output=output)


def _read(path: str, reading: Reading, query: str | None) -> Data:
    columns: dict[str, Any] = {} if query is None else {"qid": query}
    try:
        return reading(path, **columns)
    except TypeError as error:
        if query is None:
            raise
        raise click.UsageError("--qid is for tables; svmlight and npz files know their queries") from error


def make_ranker(
    samples: Data, *, loss: str, mean: Any, k: int, penalty: str | None, alpha: float | None,
    C: float | None, **rest: Any,
) -> Ranker:  # fmt: skip
    """The estimator that the options describe."""
    if C is not None and loss != "pairwise":
        raise click.UsageError("-c is SVM-Rank's, which has --loss pairwise only; give --alpha")
    chosen = chosen_alpha(alpha, C, lambda C: alpha_of_svm_rank(samples, C, mean))
    made = {"pairwise": PairwiseRanking(mean), "ndcg": NDCG(k), "map": MeanAveragePrecision()}[loss]
    return Ranker(loss=made, alpha=chosen, penalty=penalty or "l2", **rest)


def alpha_of_svm_rank(samples: Data, C: float, mean: str) -> float:
    """SVM-Rank minimises 1/2 |w|^2 + C / queries * (sum of all pairs, or of each query's mean over pairs)."""
    queries = Queries(np.asarray(samples.y, np.float64), np.ones(samples.X.shape[0]), samples.qid)
    pairs = queries.sums(queries.lower)
    units = pairs.sum() if mean == "pairs" else (pairs > 0).sum()
    if not units:
        raise ValueError("no query has two documents of different relevance")
    return float(len(pairs) / (C * units))


def measure(samples: Data, scores: Any, k: int) -> dict[str, Any]:
    """The measures of a ranking, in the mean and query by query; those that these relevances have."""
    y, qid = np.asarray(samples.y, np.float64), samples.qid
    each = {"AP": average_precision_per_query(y, scores, qid)}
    if y.min() >= 0 and y.max() <= 60:
        each = {f"NDCG@{k}": ndcg_per_query(y, scores, qid, k)} | each
    valued = ~np.isnan(each["AP"])
    names = np.zeros(1, np.int64) if qid is None else np.unique(qid)
    table = zip(names[valued], *(values[valued] for values in each.values()), strict=True)
    means = {name: float(values[valued].mean()) for name, values in each.items() if valued.any()}
    return {
        "means": {"MAP" if name == "AP" else name: mean for name, mean in means.items()},
        "queries": len(names),
        "relevant_queries": int(valued.sum()),
        "per_query": [dict(zip(("qid", *each), row, strict=True)) for row in table],
    }


def in_words(measured: dict[str, Any]) -> str:
    """What a person wants to know of a ranking."""
    queries, relevant = measured["queries"], measured["relevant_queries"]
    if not relevant:
        return f"none of {queries} queries has a relevant document"
    means = ", ".join(f"{name} {mean:.6g}" for name, mean in measured["means"].items())
    return f"{means} over {relevant} of {queries} queries"


def _predict(samples: Data, model: str, out: str, k: int, quiet: bool, output: str) -> int:
    ranker = load(model)
    if not isinstance(ranker, Ranker):
        raise click.UsageError(f"{model} holds a {type(ranker).__name__}; gapfit predict is for that")
    scores = ranker.predict(matched(samples, ranker, ranker.__dict__.pop("feature_names_in_", None)))
    with click.open_file(out, "w") as file:
        file.writelines(f"{score:.17g}\n" for score in scores.tolist())
    if samples.y is not None and not quiet and out != "-":
        measured = measure(samples, scores, k)
        say(output, in_words(measured), measured)
    return 0
