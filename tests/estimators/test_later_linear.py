"""Statements that wait until somebody asks, and say the same then."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from gapfit import LinearClassifier, LinearRegressor, OrdinalClassifier

KINDS = {
    "classes": (LinearClassifier(alpha=1e-2), lambda s: np.digitize(s, (-0.5, 0.5))),
    "labels": (LinearClassifier(loss="squared_hinge"), lambda s: s > 0),
    "numbers": (LinearRegressor(loss="absolute", alpha=1e-2), lambda s: s),
    "levels": (OrdinalClassifier(), lambda s: np.digitize(s, (-0.5, 0.5))),
}


@pytest.fixture(params=KINDS)
def given(request):
    model, target = KINDS[request.param]
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 4))
    return copy.copy(model), X, np.asarray(target(X[:, 0] + 0.3 * rng.normal(size=90)))


def said(model, X):
    return [model.support_status_, *model.score_bounds(X)]


def test_nothing_is_said_before_it_is_asked_for(given):
    model, X, y = given
    model.fit(X, y)
    assert "support_status_" not in vars(model) and "_balls" not in vars(model)
    assert model.support_status_.shape[-1] == 90
    assert "support_status_" in vars(model) and set(vars(model)["_later"]) == {"history_"}


def test_data_that_are_changed_after_the_fit_change_no_statement(given):
    model, X, y = given
    asked = said(copy.copy(model).fit(X.copy(), y.copy()), X)
    mine, targets = X.copy(), y.copy()
    model.fit(mine, targets)
    mine[:], targets[:] = 0.0, targets[0]
    for one, other in zip(asked, said(model, X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("through", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_hold_statements_and_no_data(given, through):
    model, X, y = given
    asked = said(copy.copy(model).fit(X, y), X)
    other = through(model.fit(X, y))
    assert "_later" not in vars(other)
    for one, again in zip(asked, said(other, X), strict=True):
        np.testing.assert_array_equal(one, again)


def test_another_fit_says_something_else(given):
    model, X, y = given
    first = model.fit(X, y).support_status_
    assert model.fit(X[:50], y[:50]).support_status_.shape[-1] == 50
    assert first.shape[-1] == 90


def test_a_copy_of_some_million_entries_is_kept():
    X = np.random.default_rng(0).normal(size=(300_000, 5))
    model = LinearClassifier(tol=1e-2).fit(X, X[:, 0] > 0)
    assert "support_status_" not in vars(model)
    X[:] = 0.0
    assert (model.support_status_ != "undecided").any()


def test_large_data_are_not_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(850_000, 5))
    model = LinearClassifier(tol=1e-2).fit(X, X[:, 0] > 0)
    assert "support_status_" in vars(model) and "_later" not in vars(model)


def test_what_there_is_not_is_not_there():
    with pytest.raises(AttributeError, match="'LinearClassifier' object has no attribute 'support_status_'"):
        _ = LinearClassifier().support_status_


def test_threads_may_ask_at_the_same_time():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    names = ("history_", "support_status_", "certified_zeros_", "_balls") * 2
    for _ in range(10):
        model = LinearClassifier(alpha=1e-2).fit(X, X[:, 0] > 0)
        with ThreadPoolExecutor(len(names)) as pool:
            said_now = list(pool.map(partial(getattr, model), names))
        assert [len(one) for one in said_now] == [len(getattr(model, name)) for name in names]
        assert not vars(model).get("_later")


def test_a_copy_says_the_same_whoever_is_asked_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = LinearClassifier(alpha=1e-2).fit(X, X[:, 0] > 0)
    other = copy.copy(model)
    assert model.history_ == other.history_
    np.testing.assert_array_equal(other.support_status_, model.support_status_)
