"""StructuredClassifier: ready-made structures by brute force, certificates, and inexact inference."""

import itertools

import numpy as np
import pytest

from gapfit import LinearClassifier, SequenceLabeler, Status, StructuredClassifier, load, save, solve
from gapfit.errors import ModelFileError
from gapfit.losses import CrammerSinger
from gapfit.persistence.schema import describe, rebuild
from gapfit.problem import Problem
from gapfit.structures import Assignment, Labels, LabelSequence, LabelTree, StructuredMargin, WeightDesign
from gapfit.testing import check_solver


def everything(structure, x):
    """All objects that the structure can predict for x."""
    if isinstance(structure, Labels):
        return list(range(structure.n_labels))
    if isinstance(structure, LabelSequence):
        return [np.array(y) for y in itertools.product(range(structure.n_labels), repeat=len(x))]
    if isinstance(structure, Assignment):
        return [np.array(p) for p in itertools.permutations(range(len(x)))]
    return [np.array(y) for y in itertools.product((0, 1), repeat=structure.n_labels)]


STRUCTURES = [
    Labels(4), LabelTree(5, [(0, 1), (3, 1), (1, 2)]), LabelTree(3, []), Assignment(), LabelSequence(3),
]  # fmt: skip
SHAPES = {Assignment: (4, 4, 3), LabelSequence: (4, 3)}


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: type(s).__name__)
def test_inference_is_exact(structure):
    rng = np.random.default_rng(0)
    for seed in range(40):
        x = rng.normal(size=SHAPES.get(type(structure), (3,)))
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
    (certificate,) = model.certificates_
    assert certificate.evidence == "none: the inference is not exact" and certificate.dual == -np.inf
    assert model.objective_ == certificate.primal


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="lacks joint_features"):
        StructuredClassifier(object()).fit([1], [1])
    with pytest.raises(ValueError, match="as many"):
        StructuredClassifier(Labels(2)).fit(np.ones((2, 1)), [0])
    with pytest.raises(ValueError, match="circle"):
        LabelTree(3, [(0, 1), (1, 2), (2, 0)])


def words(seed, n=12):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(int(L), 3)) for L in rng.integers(1, 6, n)]
    return X, [(x @ np.eye(3) + rng.normal(size=x.shape)).argmax(axis=1) for x in X]


def as_problem(structure, X, Y, alpha, weight=None):
    design = WeightDesign(len(X), len(structure.joint_features(X[0], Y[0])))
    return Problem(design, np.arange(len(X)), StructuredMargin(structure, X, Y), "l2", alpha, weight, False)


@pytest.mark.parametrize("alpha", [1.0, 0.05])
def test_three_ways_to_a_max_margin_network(alpha):
    X, Y = words(0)
    weight = np.arange(len(X)) % 3.0
    chain = SequenceLabeler(loss="margin", alpha=alpha, tol=1e-4).fit(X, Y, weight)
    for solver in ("block_frank_wolfe", "bundle"):
        model = StructuredClassifier(LabelSequence(3), alpha=alpha, solver=solver, tol=1e-4)
        model.fit(X, Y, weight)
        assert model.converged_
        assert model.objective_ == pytest.approx(chain.objective_, rel=2.1e-4)
        assert model.dual_objective_ <= chain.objective_ and chain.dual_objective_ <= model.objective_


def test_block_frank_wolfe_keeps_the_contract():
    check_solver("block_frank_wolfe", [as_problem(LabelSequence(3), *words(s), 0.3) for s in range(3)])


def test_block_frank_wolfe_goes_on_as_if_nothing_had_happened():
    problem = as_problem(LabelSequence(3), *words(1), 0.1)
    whole = solve(problem, "block_frank_wolfe", tol=1e-12, max_iter=8)
    half = solve(problem, "block_frank_wolfe", tol=1e-12, max_iter=4)
    rest = solve(problem, "block_frank_wolfe", tol=1e-12, max_iter=4, start=half)
    assert rest.certificate.gap <= half.certificate.gap
    assert rest.certificate.gap <= 2 * whole.certificate.gap
    other = problem.at(0.12)
    cold = solve(other, "block_frank_wolfe", tol=1e-4).n_iter
    assert solve(other, "block_frank_wolfe", tol=1e-4, start=whole).n_iter < cold


class _Counted(LabelSequence):
    calls = 0

    def loss_augmented_argmax(self, x, y, w):
        self.calls += 1
        return super().loss_augmented_argmax(x, y, w)


def test_auto_asks_less_often_than_a_bundle():
    X, Y = words(2, 40)
    calls = {}
    for solver in ("auto", "bundle"):
        structure = _Counted(3)
        StructuredClassifier(structure, alpha=0.1, solver=solver).fit(X, Y)
        calls[solver] = structure.calls
    assert 2 * calls["auto"] < calls["bundle"]


FITS = {
    "Labels": (Labels(3, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.eye(3), [0, 1, 2]),
    "LabelTree": (LabelTree(2, [(0, 1)]), np.eye(2), np.eye(2, dtype=int)),
    "LabelSequence": (LabelSequence(3), *words(3)),
    "Assignment": (Assignment(), np.random.default_rng(0).normal(size=(4, 3, 3, 2)), [np.arange(3)] * 4),
}


@pytest.mark.parametrize("name", FITS)
def test_ready_made_structures_come_back_from_a_file(name, tmp_path):
    structure, X, Y = FITS[name]
    model = StructuredClassifier(structure, alpha=0.1).fit(X, Y)
    save(model, tmp_path / "model.gapfit")
    loaded = load(tmp_path / "model.gapfit")
    assert type(loaded.structure) is type(structure)
    assert (loaded.coef_ == model.coef_).all() and loaded.certificates_ == model.certificates_
    assert all(np.array_equal(a, b) for a, b in zip(loaded.predict(X), model.predict(X), strict=True))
    save(loaded, tmp_path / "again.gapfit")
    assert (tmp_path / "again.gapfit").read_bytes() == (tmp_path / "model.gapfit").read_bytes()


def test_structures_of_your_own_are_not_stored(tmp_path):
    with pytest.raises(TypeError, match=r"structure.*no code, and predictions need the structure.*joblib"):
        save(StructuredClassifier(_Counted(3)), tmp_path / "model.gapfit")


@pytest.mark.parametrize(
    ("structure", "of", "why"),
    [
        ("LabelSequence", 10**9, "no number of labels"),
        ("LabelTree", {"n_labels": 10**9, "edges": {"array": 0}}, "no number of labels"),
        ("LabelTree", {"n_labels": 2, "edges": {"array": 0}}, "edge 0 joins 0 and 7"),
        ("Labels", {"array": 0}, "dtype"),
        ("os.system", None, "none of Labels"),
    ],
)
def test_a_file_cannot_ask_for_other_structures(structure, of, why):
    header, _ = describe(StructuredClassifier(Labels(2)))
    header["parameters"]["structure"] = {"structure": structure, "of": of}
    with pytest.raises(ModelFileError, match=why):
        rebuild(header, [np.array([[0, 7]])])
