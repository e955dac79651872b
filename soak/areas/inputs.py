"""Bad input to every estimator: a typed error that names the culprit, or a fit that works; never half a fit.

At least sixty cases an estimator. Those that are about parameters are drawn up from the estimator's own
signature, so that a parameter added later is attacked too.
"""

import contextlib
import tempfile
import time
from functools import cache
from typing import Any

import numpy as np

from soak.bad_data import CALLS, Call
from soak.job import Job
from soak.outcome import Outcome
from soak.rules import Failure, unhelpful
from soak.zoo import KINDS, Kind

LIMIT = 120.0
FIGURE = "slowest call, CPU s"
_SLOW = 15.0  # seconds: nothing here is large
_WRONG = (
    -1, 0, -1e-300, 1e308, float("nan"), float("inf"), "no such thing", b"bytes", [1.0], {"a": 1}, 1j,
    object(), None, True, np.array([1.0, 2.0]), print,
)  # fmt: skip
_FREE = {"verbose", "callbacks"}  # whatever they are, they change no fit
_CODE = {
    "solver",
    "kernel",
    "node_kernel",
    "vectorizer",
    "metric",
}  # may be the user's own, whose errors are theirs


@cache
def cases() -> list[tuple[Kind, str, Any]]:
    """(estimator, what is done, how): parameters first, then data."""
    found: list[tuple[Kind, str, Any]] = []
    for kind in KINDS:
        names = [name for name in kind.make().get_params(deep=False) if name not in _FREE]
        found += [
            (kind, f"{name}={value!r}", (name, value))
            for name in names
            for value in _WRONG
            if not (callable(value) and name in _CODE)
        ]
        found += [(kind, call.name, call) for call in CALLS]
    return found


CASES = len(cases())


def run(job: Job) -> Outcome:
    """One bad call on a fresh estimator, and on one that is fitted, where it may write what it likes."""
    with tempfile.TemporaryDirectory(prefix="gapfit-soak-") as folder, contextlib.chdir(folder):
        return _attack(job)


def _attack(job: Job) -> Outcome:
    rng, outcome = job.rng(), Outcome()
    kind, what, how = cases()[job.choice(CASES)]
    X, y = kind.data(rng)
    fresh = kind.make(max_time=0.5)
    fitted = kind.make(max_time=0.5).fit(X, y)
    before = _answers(fitted, X)
    given: dict[str, Any] = {}
    if isinstance(how, Call):
        X_bad, y_bad, given = how.make(X, y, rng)
    else:
        X_bad, y_bad = X, y
        fresh.set_params(**{how[0]: how[1]})
    began = time.process_time()
    error = _fit(fresh, X_bad, y_bad, given)
    seconds = time.process_time() - began
    text = f"{kind.name}, {what}"
    outcome.worst = seconds
    outcome.expect(seconds <= _SLOW, "slow", f"{text}: {seconds:.1f} CPU s")
    if error is None:
        _works(outcome, fresh, X, text)
        return outcome
    failure = unhelpful(error)
    outcome.take([Failure(failure.kind, f"{text}: {failure.text}")] if failure else [])
    left = [name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")]
    outcome.expect(not left, "half a fit", f"{text}: {left} are there after a failed first fit")
    if not isinstance(how, Call):
        fitted.set_params(**{how[0]: how[1]})
    if _fit(fitted, X_bad, y_bad, given) is not None:
        if not isinstance(how, Call):
            fitted.set_params(**{how[0]: kind.make().get_params(deep=False)[how[0]]})
        same = _same(before, _answers(fitted, X))
        outcome.expect(same, "fit spoiled", f"{text}: a failed fit changed what a fitted estimator predicts")
    return outcome


def _fit(model: Any, X: Any, y: Any, given: dict[str, Any]) -> Exception | None:
    try:
        model.fit(X, y, **given)
    except Exception as error:
        return error
    return None


def _answers(model: Any, X: Any) -> Any:
    return (
        np.concatenate([np.ravel(part) for part in model.predict(X)])
        if isinstance(X, list)
        else model.predict(X)
    )


def _same(left: Any, right: Any) -> bool:
    return bool(np.array_equal(np.asarray(left), np.asarray(right)))


def _works(outcome: Outcome, model: Any, X: Any, text: str) -> None:
    """It was accepted, so predictions must be there, and numbers; or the samples have another shape."""
    try:
        answers = np.asarray(_answers(model, X))
    except Exception as error:
        failure = unhelpful(error)
        outcome.take([Failure(f"predict: {failure.kind}", f"{text}: {failure.text}")] if failure else [])
        return
    if answers.dtype.kind == "f":
        outcome.expect(not np.isnan(answers).any(), "NaN", f"{text}: predictions are not numbers")
    gap = getattr(model, "dual_gap_", 0.0)
    outcome.expect(not np.isnan(gap), "NaN", f"{text}: dual_gap_ is not a number")
    converged = getattr(model, "converged_", False)
    outcome.expect(
        not (converged and not np.isfinite(gap)), "false certificate", f"{text}: converged, gap {gap}"
    )
