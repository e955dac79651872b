"""What the commands that fit a model share: the fit itself, and what is told of it."""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import click
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapfit.cli.files import say
from gapfit.cli.progress import progress_line
from gapfit.cli.tables import Encoded
from gapfit.estimators.certified import advice
from gapfit.persistence import save
from gapfit.solution import Status


def watched(fit: Callable[[], Any], *, quiet: bool, tol: float | None = None) -> tuple[Any, float]:
    """What `fit` returns and the seconds it took, with a line of progress on a terminal."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught, progress_line(quiet=quiet, tol=tol):
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last line and the exit code say it
        result = fit()
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
    return result, perf_counter() - began


def conclude(
    estimator: Any,
    out: str,
    told: str,
    facts: dict[str, Any],
    read: Encoded | None = None,
    *,
    quiet: bool,
    output: str,
) -> int:
    """Write the model, say what is to be told of it, and return the exit code of the command."""
    if read is not None and read.names is not None:
        estimator.feature_names_in_ = np.array(read.names, dtype=object)
    save(estimator if read is None else read.model(estimator), out)
    if not quiet:
        say(output, told, facts)
        if next_step := advice(estimator.status_):
            click.echo(f"Next: {next_step}.", err=True)
    return exit_code(estimator)


def exit_code(estimator: Any) -> int:
    """0 only for a certified fit; of a local search all convex parts are, and more was not asked for."""
    return {Status.CERTIFIED: 0, Status.LOCAL: 0, Status.INTERRUPTED: 130}.get(estimator.status_, 2)


def fields(estimator: Any, seconds: float) -> dict[str, Any]:
    """What a machine wants to know of a fit."""
    return {
        "status": estimator.status_.name.lower(),
        "converged": estimator.converged_,
        "objective": estimator.objective_,
        "bound": estimator.dual_objective_,
        "gap": estimator.dual_gap_,
        "relative_gap": max(certificate.relative_gap for certificate in estimator.certificates_),
        "steps": estimator.n_iter_,
        "alpha": estimator.alpha_,
        "seconds": seconds,
    }


def last_line(estimator: Any, seconds: float) -> str:
    """What a person wants to know of a fit."""
    told, fits = fields(estimator, seconds), len(estimator.certificates_)
    worst = f", the worst of {fits} fits" if fits > 1 else ""
    return (
        f"{told['status']}: objective {told['objective']:.8g}, bound {told['bound']:.8g}, "
        f"gap {told['gap']:.2e} (relative {told['relative_gap']:.2e}{worst}), {told['steps']} steps, "
        f"{seconds:.2f} s"
    )
