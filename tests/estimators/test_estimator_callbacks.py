"""scikit-learn's callback protocol: progress, scores while fitting, and stopping from a callback."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapfit import (
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    LinearRegressor,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    SequenceLabeler,
    Status,
    StructuredClassifier,
)
from gapfit.structures import Labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=80)
MODELS = {
    "classifier": (LinearClassifier(alpha=1e-3), (Y > 0).astype(int)),
    "one against the rest": (LinearClassifier(alpha=1e-3), np.digitize(Y, [-1, 1])),
    "regressor": (LinearRegressor(loss="absolute", alpha=1e-3), Y),
    "novelty": (NoveltyDetector(nu=0.2), None),
    "kernel": (KernelSVC(kernel="linear", C=10, tol=1e-7), (Y > 0).astype(int)),
    "kernel, pairs of classes": (KernelSVC(kernel="linear", C=10), np.digitize(Y, [-1, 1])),
    "kernel, nu": (KernelSVC(nu=0.2), (Y > 0).astype(int)),
    "kernel regressor": (KernelSVR(kernel="linear", C=10), Y),
    "kernel novelty": (KernelNoveltyDetector(kernel="linear", nu=0.2), None),
    "ranking": (Ranker(alpha=1e-3), np.digitize(Y, [-1, 1])),
    "levels": (OrdinalClassifier(alpha=1e-3), np.digitize(Y, [-1, 1])),
    "levels by pairs": (OrdinalClassifier(loss="pairs", alpha=1e-3), np.digitize(Y, [-1, 1])),
    "structures": (StructuredClassifier(Labels(3), alpha=1e-3), np.digitize(Y, [-1, 1])),
}
# small fits that nobody watches go another way, to the same optimum
IN_ONE_CALL = (
    "classifier", "one against the rest", "regressor", "levels", "kernel", "kernel, pairs of classes",
    "kernel regressor", "kernel novelty", "kernel, nu",
)  # fmt: skip
every_model = pytest.mark.parametrize("name", MODELS)


class Recorder:
    """Follows the FitCallback protocol, and asks to stop after some steps."""

    def __init__(self, stop_after=np.inf):
        self.stop_after, self.begun, self.ended, self.fitted = stop_after, [], [], []

    def setup(self, estimator, context):
        self.torn_down = False

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.ended.append(context.task_name)
        if fitted_estimator is not None:
            self.fitted.append(fitted_estimator)
        return context.task_name == "step" and self.ended.count("step") >= self.stop_after

    def teardown(self, estimator, context):
        self.torn_down = True


@every_model
def test_every_step_is_told_with_a_model_that_predicts(name):
    model, y = MODELS[name]
    recorder = Recorder()
    model = clone(model).set_callbacks(recorder).fit(X, y)
    assert recorder.torn_down
    assert sorted(recorder.begun) == sorted(recorder.ended)
    assert recorder.ended.count("fit") == 1
    assert len(recorder.fitted) >= 2
    np.testing.assert_array_equal(recorder.fitted[-1].predict(X), model.predict(X))
    plain = clone(MODELS[name][0]).fit(X, y)
    assert plain.status_ is model.status_
    for mine, other in zip(plain.certificates_, model.certificates_, strict=True):
        assert mine.primal <= other.primal + mine.gap and other.primal <= mine.primal + other.gap
    if name in IN_ONE_CALL:
        return
    scores = "decision_function" if hasattr(plain, "decision_function") else "predict"
    rounding = 1e-12 if name.startswith("kernel") else 0.0  # products are updated from those of the last look
    np.testing.assert_allclose(getattr(plain, scores)(X), getattr(model, scores)(X), rounding, rounding)


@every_model
def test_a_callback_can_stop_the_fit(name, recwarn):
    model, y = MODELS[name]
    model = clone(model).set_params(tol=1e-13).set_callbacks(Recorder(stop_after=1)).fit(X, y)
    assert model.status_ is Status.STOPPED
    assert not model.converged_
    assert np.isfinite(model.dual_gap_)
    assert not recwarn  # the user asked for it


def test_scores_are_monitored_while_fitting():
    monitor = ScoringMonitor(scoring="accuracy")
    LinearClassifier(alpha=1e-3).set_callbacks(monitor).fit(X, (Y > 0).astype(int))
    assert monitor.get_logs()


def test_progress_bar(capsys):
    LinearClassifier(alpha=1e-3).set_callbacks(ProgressBar()).fit(X, (Y > 0).astype(int))
    assert "LinearClassifier" in capsys.readouterr().out


def test_in_a_pipeline_and_a_search():
    recorder = Recorder()
    model = make_pipeline(StandardScaler(), LinearClassifier(alpha=1e-3).set_callbacks(recorder))
    search = GridSearchCV(model, {"linearclassifier__alpha": [1e-2, 1e-3]}, cv=2).fit(X, (Y > 0).astype(int))
    assert search.best_score_ > 0.5
    assert recorder.ended


@every_model
def test_the_html_representation_shows_status_and_certificate(name):
    model, y = MODELS[name]
    page = clone(model).fit(X, y)._repr_html_()
    for attribute in ("status_", "objective_", "dual_objective_", "dual_gap_", "converged_"):
        assert attribute in page


def test_chains_are_told_of_every_step_too():
    sequences = [X[k : k + 4] for k in range(0, 80, 4)]
    labels = [(own[:, 0] > 0).astype(int) for own in sequences]
    recorder = Recorder()
    model = SequenceLabeler(alpha=1e-3).set_callbacks(recorder).fit(sequences, labels)
    assert recorder.torn_down and len(recorder.fitted) >= 2
    assert sorted(recorder.begun) == sorted(recorder.ended)
    np.testing.assert_array_equal(recorder.fitted[-1].weights_, model.weights_)
    np.testing.assert_array_equal(recorder.fitted[-1].predict(sequences), model.predict(sequences))
    model.set_params(tol=1e-13).set_callbacks(Recorder(stop_after=1)).fit(sequences, labels)
    assert model.status_ is Status.STOPPED and np.isfinite(model.dual_gap_)


@every_model
def test_the_warning_points_at_the_line_that_calls_fit(name):
    model, y = MODELS[name]
    with pytest.warns(ConvergenceWarning, match="max_iter") as log:
        clone(model).set_params(max_iter=1, tol=1e-13).fit(X, y)
    assert log[0].filename == __file__
