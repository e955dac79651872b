"""The objective: what it refuses, and what J is at a point, rounding counted."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, UnboundedProblem, solve
from gapfit.design.chain import ChainDesign
from gapfit.losses import Hinge, Novelty
from gapfit.penalties import L1
from problems import labels_problem

X = np.arange(6.0).reshape(3, 2)
Y = np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"alpha": 0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": "1"}, "alpha"),
        ({"alpha": True}, "alpha"),
        ({"loss": "hing"}, "loss 'hing'; known are absolute"),
        ({"loss": Hinge}, r"write Hinge\(\)"),
        ({"loss": None}, "loss"),
        ({"penalty": "l3"}, "penalty"),
        ({"penalty": "quadratic_form"}, r"QuadraticForm\(...\)"),
        ({"y": [1.0, -1.0]}, "y has 2 values but X has 3 rows"),
        ({"y": [0.0, 1.0, 1.0]}, "y must hold the labels"),
        ({"y": [1.0, np.nan, 1.0]}, "y"),
        ({"y": [[1.0], [-1.0], [1.0]]}, "y must be one-dimensional"),
        ({"y": ["a", "b", "a"]}, "y must hold numbers"),
        ({"y": np.array([1j, 1, 1])}, "y"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "sample_weight"),
        ({"sample_weight": [0.0, 0.0, 0.0]}, "sample_weight"),
        ({"sample_weight": [1.0, np.inf, 1.0]}, "sample_weight"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"offset": [1.0]}, "offset"),
        ({"offset": [np.nan, 1.0, 1.0]}, "offset"),
        ({"X": np.full((3, 2), np.nan)}, "X"),
        ({"X": np.full((3, 2), np.inf)}, "X"),
        ({"X": X * 1e150}, "X holds 5e"),
        ({"y": Y * 1e150, "loss": "squared"}, "y holds"),
        ({"X": X[0]}, "1D|2D"),
        ({"X": X + 1j}, "Complex"),
        ({"X": np.full((3, 2), "a")}, "could not convert|dtype"),
        ({"X": np.empty((3, 0))}, "0 feature"),
        ({"X": sparse.csr_array(X).tocoo(), "alpha": None}, "alpha"),
    ],
)
def test_bad_arguments_of_problem(kwargs, match):
    with pytest.raises((ValueError, TypeError), match=match):
        Problem(**{"X": X, "y": Y, **kwargs})


@pytest.mark.parametrize("break_it", ["index", "negative", "indptr", "short"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_broken_sparse_matrices_are_refused(form, break_it):
    broken = sparse.csr_matrix(X).asformat(form)
    if break_it == "index":
        broken.indices[0] = 7
    elif break_it == "negative":
        broken.indices[0] = -1
    elif break_it == "indptr":
        broken.indptr[1] = 99
    else:
        broken.data = broken.data[:-2]
    with pytest.raises(ValueError, match="X"):
        Problem(broken, Y)


def test_unbounded_problems_are_refused_by_name():
    X, ones = np.ones((4, 1)), np.ones(4)
    with pytest.raises(UnboundedProblem, match=r"Logistic.*one class"):
        Problem(X, ones, "logistic")
    with pytest.raises(UnboundedProblem, match="counts"):
        Problem(X, 0 * ones, "poisson")
    assert solve(Problem(X, ones, "hinge")).certificate.primal == pytest.approx(0, abs=1e-12)
    with pytest.raises(UnboundedProblem, match="Novelty"):
        solve(Problem(X, ones, Novelty(0.5), L1(), alpha=1e-3))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "poisson"])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_j_in_more_digits_lies_within_its_error(loss, shift):
    """The same sums by long double, whose digits suffice to see the error of double."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) + shift
    y = (
        rng.integers(0, 4, 40).astype(float)
        if loss == "poisson"
        else np.where(rng.random(40) < 0.5, 1.0, -1.0)
    )
    problem = Problem(X, y, loss, alpha=0.1)
    w, b = rng.normal(size=3) * (1e-9 if shift else 1.0), np.array([0.3])
    found = problem.most(w, b)
    wide = np.longdouble
    f = X.astype(wide) @ w.astype(wide) + wide(b[0])
    r = np.maximum(y, 1).astype(wide)
    each = {
        "hinge": lambda: np.maximum(0, 1 - y * f),
        "logistic": lambda: np.log1p(np.exp(-y * f)),
        "squared": lambda: (f - y) ** 2 / 2,
        "poisson": lambda: np.exp(f) - y * f + np.where(y > 0, y * np.log(r), 0) - y,
    }[loss]()
    J = wide(0.05) * (w.astype(wide) ** 2).sum() + each.mean()
    assert abs(float(J) - found.value) <= found.error + 1e-18
    exactly = problem.most(w, b, exact=True)
    assert abs(float(J) - exactly.value) <= exactly.error + 1e-18 and exactly.error <= found.error


def test_a_sample_of_no_weight_is_absent_and_of_weight_two_there_twice():
    rng = np.random.default_rng(0)
    X_, y = rng.normal(size=(6, 2)), np.array([1.0, -1, 1, -1, 1, -1])
    copies = np.repeat(np.arange(6), [0, 1, 2, 1, 3, 0])
    weighted = Problem(X_, y, alpha=0.1, sample_weight=[0, 1, 2, 1, 3, 0])
    repeated = Problem(X_[copies], y[copies], alpha=0.1)
    w, b = rng.normal(size=2), np.array([0.2])
    assert weighted.evaluate(w, b) == pytest.approx(repeated.evaluate(w, b), rel=1e-14)
    assert weighted.design.shape == (4, 2)


def test_problems_of_other_alphas_share_what_is_of_the_data_alone():
    problem = labels_problem(alpha=1e-2)
    other = problem.at(1e-3)
    assert other.at_zero is problem.at_zero and other.design is problem.design
    assert (problem.alpha, other.alpha) == (1e-2, 1e-3)
    w, b = np.ones(5), np.zeros(1)
    assert problem.evaluate(w, b) - other.evaluate(w, b) == pytest.approx(9e-3 * 2.5, rel=1e-12)
    with pytest.raises(ValueError, match="alpha"):
        problem.at(0.0)


def test_some_samples_of_a_problem_are_a_problem():
    problem = labels_problem(offset=np.linspace(-1, 1, 60), sample_weight=np.arange(1.0, 61.0))
    rows = np.array([3, 4, 50])
    part = problem.take(rows)
    w, b = np.ones(5), np.array([0.1])
    own = dict(sample_weight=problem.weight[rows], offset=problem.offset[rows])
    direct = Problem(problem.design.take(rows), problem.y[rows], "hinge", alpha=1e-2, **own)
    assert part.evaluate(w, b) == direct.evaluate(w, b)


def test_the_scale_does_not_know_where_a_fit_began():
    problem = labels_problem(loss="squared")
    before = problem.scale
    solve(problem, start=np.full(5, 1e8), tol=1e-3)
    assert problem.scale == before == pytest.approx(abs(problem.at_zero.value))


def test_a_design_of_chains_knows_its_groups():
    """Without groups, and with those that say the same; others are refused."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 3
    design, chains = ChainDesign(X, [5, 5, 4, 6], 3), np.repeat(["a", "b", "c", "d"], [5, 5, 4, 6])
    for loss in ("chain_crf", "chain_margin"):
        alone = Problem(design, y, loss, alpha=0.1)
        told = Problem(design, y, loss, alpha=0.1, groups=chains)
        w = rng.normal(size=design.shape[1])
        assert alone.evaluate(w, np.zeros(0)) == told.evaluate(w, np.zeros(0))
        with pytest.raises(ValueError, match="groups and the design differ in where sequences begin"):
            Problem(design, y, loss, alpha=0.1, groups=np.zeros(20))
    assert solve(Problem(design, y, "chain_crf", alpha=0.1), tol=1e-4).converged
