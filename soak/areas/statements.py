"""What a loose fit says of the optimum (score bounds, certified labels, support) must hold for a tight one.

The tight fit is not the optimum either, but its own bounds say where that is. So two intervals that both
contain the optimum's score must meet, and a label or a status is refuted only beyond the tight one's width.
"""

from typing import Any

import numpy as np

from soak.hostile import spread
from soak.job import Job
from soak.outcome import Outcome
from soak.rules import unhelpful
from soak.settings import DRAWS, Setting

CASES = 500
LIMIT = 120.0
FIGURE = "distance of two intervals / their widths"
_TIGHT = 1e-11


def run(job: Job) -> Outcome:
    """One setting, loose and tight."""
    rng, outcome = job.rng(), Outcome()
    setting = DRAWS[job.case % len(DRAWS)](rng)
    try:
        loose, tight = setting.fit(float(spread(rng, -4, 0))), setting.fit(_TIGHT)
    except Exception as error:
        outcome.take(
            [
                failure._replace(text=f"{failure.text} [{setting.text}]")
                for failure in [unhelpful(error)]
                if failure
            ]
        )
        return outcome
    other = setting.X[rng.permutation(len(setting.X))] * float(spread(rng, -1, 1))
    for X in (setting.X, other):
        _bounds(outcome, loose, tight, X, setting.text)
        _labels(outcome, loose, tight, X, setting.text)
    _support(outcome, loose, tight, setting)
    return outcome


def _bounds(outcome: Outcome, loose: Any, tight: Any, X: Any, text: str) -> None:
    try:
        (lo, hi), (below, above) = loose.score_bounds(X), tight.score_bounds(X)
    except (ValueError, AttributeError, TypeError):
        return  # a penalty without a modulus says so
    outcome.expect(not any(np.isnan(end).any() for end in (lo, hi, below, above)), "NaN bounds", text)
    outcome.expect((lo <= hi).all() and (below <= above).all(), "empty interval", text)
    apart = np.maximum(lo - above, below - hi)
    width = (hi - lo) + (above - below)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.nan_to_num(np.maximum(apart, 0.0) / np.maximum(width, 1e-300), posinf=1e300)
    outcome.worst = max(outcome.worst, float(ratio.max(initial=0.0)))
    count = int((apart > 0).sum())
    outcome.expect(
        count == 0, "score_bounds", f"{count} of {apart.size} intervals miss those of the tight fit [{text}]"
    )
    own = tight.decision_function(X) if hasattr(tight, "decision_function") else None
    if own is not None and np.shape(own) == lo.shape and np.isfinite(above - below).all():
        # the optimum is in the tight interval; the model's own scores need not be: its weights are rounded
        outside = np.maximum(np.maximum(below - own, own - above), 0.0)
        slack = outside + (above - below) + 1e-9 * (1 + np.abs(own))
        count = int(((own < lo - slack) | (own > hi + slack)).sum())
        outcome.expect(count == 0, "scores", f"{count} of {own.size} tight scores lie outside [{text}]")


def _labels(outcome: Outcome, loose: Any, tight: Any, X: Any, text: str) -> None:
    if not hasattr(loose, "certified"):
        return
    try:
        proved, also = loose.certified(X), tight.certified(X)
    except (ValueError, AttributeError, TypeError):
        return
    differ = np.asarray(loose.predict(X) != tight.predict(X))
    wrong = proved & differ & (also | (_apart(tight, X, differ.shape) > 1e-6))
    count = int(wrong.sum())
    outcome.expect(
        count == 0, "certified", f"{count} of {int(proved.sum())} certified labels differ [{text}]"
    )


def _apart(model: Any, X: Any, shape: tuple[int, ...]) -> np.ndarray:
    """How far a prediction is from a tie, relatively to the scores."""
    if not hasattr(model, "decision_function"):
        return np.zeros(shape)
    scores = np.asarray(model.decision_function(X), dtype=float)
    size = max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    if scores.shape == shape:
        return np.abs(scores) / size
    ranked = np.sort(scores, axis=1)
    return (ranked[:, -1] - ranked[:, -2]) / size


def _support(outcome: Outcome, loose: Any, tight: Any, setting: Setting) -> None:
    if not hasattr(loose, "support_status_"):
        return
    said, found = loose.support_status_, tight.support_status_
    clash = ((said == "zero") & np.isin(found, ["support", "bound"])) | (
        np.isin(said, ["support", "bound"]) & (found == "zero")
    )
    outcome.expect(not clash.any(), "support_status", f"{int(clash.sum())} statuses clash [{setting.text}]")
    if setting.slopes is None:
        return
    try:
        below, above = tight.score_bounds(setting.X)
    except (ValueError, AttributeError, TypeError):
        return
    if np.shape(below) != (len(setting.y),) or not np.isfinite(above - below).all():
        return
    scores, error = 0.5 * (below + above), (above - below) + 1e-9 * (1 + np.abs(above))
    there = np.ones(len(scores), bool) if setting.weight is None else setting.weight > 0
    may_be_zero, may_be_bound = setting.slopes(scores, np.asarray(setting.y, dtype=float), error)
    for status, may in (("zero", may_be_zero), ("bound", may_be_bound)):
        for model in (loose, tight):
            wrong = int(((model.support_status_ == status) & ~may & there).sum())
            outcome.expect(
                wrong == 0, f"status {status}", f"{wrong} samples cannot be {status!r} [{setting.text}]"
            )
