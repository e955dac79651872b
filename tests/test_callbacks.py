"""Early stopping on samples that the fit does not see."""

import doctest
import io

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from gapfit import LinearClassifier, Status, callbacks
from gapfit.callbacks import EarlyStopping, LiveProgress

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)


def test_it_ends_when_the_score_has_not_risen_for_a_while():
    stop = EarlyStopping(X[300:], Y[300:], patience=4)
    model = LinearClassifier(solver="bundle", alpha=1e-5, tol=1e-12).set_callbacks(stop).fit(X[:300], Y[:300])
    assert model.status_ is Status.STOPPED and np.isfinite(model.dual_gap_)
    best = int(np.argmax(stop.scores_))
    assert len(stop.scores_) == best + 5
    assert model.score(X[300:], Y[300:]) == pytest.approx(stop.scores_[-1])


def test_a_fit_that_is_done_earlier_is_certified():
    stop = EarlyStopping(X[300:], Y[300:], scoring="neg_brier_score", patience=10_000)
    model = LinearClassifier(loss="logistic", alpha=0.1).set_callbacks(stop).fit(X[:300], Y[:300])
    assert model.converged_ and all(-1 <= score <= 0 for score in stop.scores_)


def test_examples():
    results = doctest.testmod(callbacks)
    assert results.attempted and not results.failed


def test_patience_is_a_count():
    with pytest.raises(ValueError, match="patience"):
        EarlyStopping(X, Y, patience=0)


def test_progress_is_shown_while_it_runs():
    screen = io.StringIO()
    live = LiveProgress(console=Console(file=screen, width=160, force_terminal=True, color_system=None))
    model = LinearClassifier(solver="bundle", alpha=1e-3).set_callbacks(live).fit(X, Y)
    assert model.converged_ and len(live.lines_) > 3
    assert live.lines_[0].startswith("step 1  objective") and "left" in live.lines_[-2]
    assert f"bound {model.dual_objective_:.6g}" in live.lines_[-1]
    assert live.lines_[-1] in screen.getvalue()


def test_a_fit_that_fails_leaves_the_screen_alone():
    screen = io.StringIO()
    live = LiveProgress(console=Console(file=screen, force_terminal=True))
    with pytest.raises(ValueError, match="alpha"):
        LinearClassifier(alpha=-1.0).set_callbacks(live).fit(X, Y)
    LinearClassifier().set_callbacks(live).fit(X, Y)  # another one may begin
