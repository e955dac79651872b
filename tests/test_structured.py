"""StructuredClassifier: ready-made structures by brute force, certificates, and inexact inference."""

import itertools

import numpy as np
import pytest

from gapfit import LinearClassifier, Status, StructuredClassifier
from gapfit.losses import CrammerSinger
from gapfit.structures import Assignment, Labels, LabelTree


def everything(structure, x):
    """All objects that the structure can predict for x."""
    if isinstance(structure, Labels):
        return list(range(structure.n_labels))
    if isinstance(structure, Assignment):
        return [np.array(p) for p in itertools.permutations(range(len(x)))]
    return [np.array(y) for y in itertools.product((0, 1), repeat=structure.n_labels)]


STRUCTURES = [Labels(4), LabelTree(5, [(0, 1), (3, 1), (1, 2)]), LabelTree(3, []), Assignment()]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: type(s).__name__)
def test_inference_is_exact(structure):
    rng = np.random.default_rng(0)
    for seed in range(40):
        x = rng.normal(size=(4, 4, 3)) if isinstance(structure, Assignment) else rng.normal(size=3)
        objects = everything(structure, x)
        y = objects[rng.integers(len(objects))]
        w = rng.normal(size=len(structure.joint_features(x, y)))
        w = np.round(w) if seed % 2 else w
        plain = [w @ structure.joint_features(x, other) for other in objects]
        augmented = [f + structure.loss(y, other) for f, other in zip(plain, objects, strict=True)]
        assert w @ structure.joint_features(x, structure.argmax(x, w)) == pytest.approx(max(plain))
        found = structure.loss_augmented_argmax(x, y, w)
        value = structure.loss(y, found) + w @ structure.joint_features(x, found)
        assert value == pytest.approx(max(augmented))
        assert structure.loss(y, y) == 0


def test_labels_are_the_multiclass_svm():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)
    ours = StructuredClassifier(Labels(3), alpha=0.1, tol=1e-7).fit(X, y)
    peer = LinearClassifier(loss=CrammerSinger(), alpha=0.1, fit_intercept=False, tol=1e-7).fit(X, y)
    assert ours.objective_ == pytest.approx(peer.objective_, rel=1e-6)
    assert ours.converged_ and ours.status_ is Status.CERTIFIED


def test_a_tree_learns_what_goes_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    first = (x[:, 0] > 0).astype(int)
    Y = np.stack([first, first, 1 - first], axis=1)  # the other two follow the first
    tree = StructuredClassifier(LabelTree(3, [(0, 1), (0, 2)]), alpha=1e-2, tol=1e-2).fit(x, Y)
    assert tree.score(x, Y) > 0.9 and tree.losses(x, Y).mean() < 0.3


def test_assignments_learn_to_sort():
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(30):
        value = rng.normal(size=4)
        places = np.arange(4)
        X.append(np.stack([np.outer(value, places), rng.normal(size=(4, 4))], axis=2))
        Y.append(np.argsort(np.argsort(value)))
    model = StructuredClassifier(Assignment(), alpha=1e-3).fit(X[:20], Y[:20])
    assert model.converged_ and model.score(X[20:], Y[20:]) > 0.8


class _Lazy(Labels):
    """Looks at two labels of three only."""

    exact = False

    def loss_augmented_argmax(self, x, y, w):
        return int(np.argmax((self.costs[int(y)] + w.reshape(self.n_labels, -1) @ x)[:2]))


def test_inexact_inference_is_refused_or_owned_up_to():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.argmax(X, axis=1)
    with pytest.raises(ValueError, match="not exact"):
        StructuredClassifier(_Lazy(3)).fit(X, y)
    model = StructuredClassifier(_Lazy(3), inexact=True).fit(X, y)
    assert model.status_ is Status.LOCAL and not model.converged_ and model.dual_gap_ == np.inf
    assert len(model.predict(X)) == 40


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="lacks joint_features"):
        StructuredClassifier(object()).fit([1], [1])
    with pytest.raises(ValueError, match="as many"):
        StructuredClassifier(Labels(2)).fit(np.ones((2, 1)), [0])
    with pytest.raises(ValueError, match="circle"):
        LabelTree(3, [(0, 1), (1, 2), (2, 0)])
