"""`gapfit report model data`: one page with all that is known of a model and of what it does."""

from pathlib import Path
from typing import Any

import click

from gapfit.atomic import replacing
from gapfit.cli.files import Reading, check_place, reading
from gapfit.cli.predict import matched
from gapfit.cli.tables import Loaded, opened
from gapfit.report import facts_of, page
from gapfit.report.facts import Samples


@click.command()
@click.argument("model")
@click.argument("data")
@click.argument("out", default="report.html")
@click.option(
    "--training",
    metavar="DATA",
    help="What the model was fitted to: for baselines that are fitted to it, and for robust predictions.",
)
@click.option("--title", help="Of the page [default: the name of the model].")
@click.option("-q", "--quiet", is_flag=True, help="No last line.")
@reading
def report(
    model: str, data: str, out: str, *, training: str | None, title: str | None, quiet: bool, reading: Reading
) -> int:
    """Write a page about MODEL and what it does on DATA to OUT [default: report.html].

    Scores beside baselines, the certificate, how the fit went, certified and robust predictions, calibration,
    the largest weights with their ranges. One HTML file that needs nothing else.
    """
    check_place(out)
    loaded = opened(model)
    loaded.model.__dict__.pop("feature_names_in_", None)
    if not hasattr(loaded.model, "predict") or not hasattr(loaded.model, "n_features_in_"):
        raise click.UsageError(
            f"a report is about models of rows and features, not {type(loaded.model).__name__}"
        )
    seen = None if training is None else _samples(loaded, reading, training)
    facts = facts_of(loaded.model, _samples(loaded, reading, data), loaded.names, seen)
    told = [("Model", f"{model} ({type(loaded.model).__name__})"), ("Data", f"{data} ({facts.rows} rows)")]
    if training is not None:
        told.append(("Training data", training))
    with replacing(out) as file:
        file.write(page(title or Path(model).name, facts, told).encode())
    if not quiet:
        ended = loaded.model.status_.value.partition(":")[0]
        click.echo(f"{out}: {_foremost(facts.scores, loaded.model)}{ended}")
    return 0


def _samples(loaded: Loaded, reading: Reading, path: str) -> Samples:
    samples = loaded.read(reading, path)
    return Samples(matched(samples, loaded.model, loaded.names), samples.y)


def _foremost(scores: dict[str, dict[str, Any]], model: Any) -> str:
    """The score that the model was trained for, else its first one, if it has any."""
    told = scores.get("this model", {})
    wanted = str(getattr(model, "metric", "")).replace("_", " ")
    for name in sorted(told, key=lambda name: name.lower() != wanted):
        return f"{name} {told[name]:.4g}, "
    return ""
