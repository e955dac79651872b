"""The ways to a classifier for a measure: what is fitted and chosen, and what comes of it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit.estimators.pool import recipes
from gapfit.estimators.pool.adaptive import choose, fits_of
from gapfit.estimators.pool.collapse import warn_of_collapse
from gapfit.estimators.pool.cut import line_of, threshold_of, together
from gapfit.estimators.pool.folds import CrossValidation, Fold, Result
from gapfit.estimators.pool.members import Done, Fitted, Member, Settings, Surrogate, TwoClasses
from gapfit.estimators.pool.offsets import offsets_of
from gapfit.estimators.pool.splits import against_rest, one_against_rest
from gapfit.estimators.products import products
from gapfit.metrics import best_threshold

_AVERAGED = 10  # members


class Data(NamedTuple):
    """Samples and their folds, and how to fit: roughly on these, as asked on all samples."""

    samples: TwoClasses
    folds: Sequence[Fold]
    rough: Settings
    settings: Settings


class Outcome(NamedTuple):
    """What was made of the samples."""

    models: Sequence[Fitted]  # one, or one for each class, with their thresholds
    last: Sequence[Fitted]  # what these are made of
    fits: Sequence[Fitted]  # all that was solved on all samples for them
    score: float
    strategy: str
    tried: dict[str, list[Any]]
    alpha: float


def two_classes(data: Data, alphas: Sequence[float]) -> Outcome:
    """Choose by log loss, fit what was chosen on all samples, and cut it for the measure."""
    found = choose(data.folds, data.rough, alphas)
    threshold, score = threshold_of(data.settings.metric, found.seen)
    fits = fits_of(found.recipe, data.samples, data.settings)
    models, recipe = [_cut(fits[-1], threshold)], found.recipe
    return Outcome(models, fits[-1:], fits, score, recipe.strategy, _table(found.results), recipe.alpha)


def several_classes(data: Data, alphas: Sequence[float], classes: NDArray[Any]) -> Outcome:
    """The same for each class against the rest; scores are calibrated, and offsets chosen for all."""
    measure = data.settings.metric.several
    assert measure is not None
    models: list[Fitted] = []
    last: list[Fitted] = []
    fits: list[Fitted] = []
    columns, chosen = [], []
    results: dict[str, Result] = {}
    for k, label in enumerate(classes.tolist()):
        found = choose([against_rest(fold, k) for fold in data.folds], data.rough, alphas)
        seen = together(found.seen)
        slope, intercept = line_of(*seen)
        own = fits_of(found.recipe, one_against_rest(data.samples, k), data.settings)
        models.append(own[-1]._replace(w=slope * own[-1].w, b=slope * own[-1].b + intercept))
        last.append(own[-1])
        fits += own
        columns.append(slope * seen[0] + intercept)
        chosen.append(found.recipe.alpha)
        results |= {f"{label!r}: {member}": result for member, result in found.results.items()}
    of = np.concatenate([fold.test.y for fold in data.folds])
    weight = np.concatenate([fold.test.weight for fold in data.folds])
    truth = (of[:, None] == np.arange(len(classes))).astype(np.float64)
    offsets, score = offsets_of(measure, np.stack(columns, axis=1), truth, weight)
    models = [_cut(model, -more) for model, more in zip(models, offsets.tolist(), strict=True)]
    alpha = float(np.exp(np.mean(np.log(chosen))))
    return Outcome(models, last, fits, score, "classes", _table(results, "classes"), alpha)


def alone(member: Surrogate, samples: TwoClasses, settings: Settings) -> Outcome:
    """A single fit, cut where that is best for its own samples, exactly."""
    fitted = member.fit(samples, settings, {})
    scores = products(samples.design, fitted.w[None, :])[:, 0]  # to the last bit those of `predict`
    threshold, score = best_threshold(settings.metric, scores, samples.positive, samples.weight)
    tried = _table({member: Result(score, 0.0, threshold, fitted.certificate.relative_gap)})
    warn_of_collapse(member, fitted, samples, settings)
    return Outcome(
        [fitted._replace(b=-threshold)], [fitted], [fitted], score, member.strategy, tried, member.alpha
    )


def best_of(data: Data, members: Sequence[Member]) -> Outcome:
    """Choose by cross-validation on the measure, and fit what was chosen on all samples."""
    search = CrossValidation(data.folds, data.rough)
    search.add(members)
    (winner,) = search.best(1)
    result, fitted = search.results[winner], winner.fit(data.samples, data.settings, {})
    if isinstance(winner, Surrogate):
        warn_of_collapse(winner, fitted, data.samples, data.settings)
    models, tried = [_cut(fitted, result.threshold)], _table(search.results)
    return Outcome(models, [fitted], [fitted], result.score, winner.strategy, tried, winner.alpha)


def pool(data: Data, alphas: Sequence[float], *, surrogates: bool) -> Outcome:
    """The best of costs and local searches by cross-validation on the measure; the average of the ten best,
    if that does better. Nothing is proved of a search or of an average."""
    samples, settings = data.samples, data.settings
    search = CrossValidation(data.folds, data.rough)
    search.add(recipes.costs(samples, settings, alphas))
    if surrogates:
        search.add(recipes.surrogates(samples, settings, alphas))
    search.add(recipes.tilts(samples, settings, search.best()))
    (winner,) = search.best(1)
    members, result = [winner], search.results[winner]
    if len(search.results) > 1:
        several = search.best(_AVERAGED)
        together = search.judge_average(several)
        if together.score > result.score:
            members, result = several, together
    done: Done = {}
    for member in members:
        done[member] = member.fit(samples, settings, done)
    fits = [done[member] for member in members]
    fitted = fits[0] if len(members) == 1 else search.average(members, samples, done)
    strategy = winner.strategy if len(members) == 1 else "average"
    models, tried = [_cut(fitted, result.threshold)], _table(search.results)
    return Outcome(models, fits, fits, result.score, strategy, tried, winner.alpha)


def _cut(model: Fitted, threshold: float) -> Fitted:
    return model._replace(b=model.b - threshold)


def _table(results: Mapping[Any, Result], strategy: str | None = None) -> dict[str, list[Any]]:
    return {
        "member": [str(member) for member in results],
        "strategy": [strategy or member.strategy for member in results],
        **{name: [getattr(result, name) for result in results.values()] for name in Result._fields},
    }
