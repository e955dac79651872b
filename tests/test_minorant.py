"""Mixtures of minorants: what they prove, what they keep, and what cannot be mixed."""

import numpy as np
import pytest

from gapfit import ContractError
from gapfit.minorant import Minorant, combine, mix
from problems import labels_problem


def cuts(problem, count, seed=0):
    rng = np.random.default_rng(seed)
    return [problem.oracle(rng.normal(size=problem.design.shape[1])).minorant for _ in range(count)]


@pytest.mark.parametrize("loss", ["hinge", "logistic", "f_beta", "roc_area"])
def test_a_mixture_lies_below_the_risk_everywhere(loss):
    problem = labels_problem(loss=loss)
    rng = np.random.default_rng(1)
    for _ in range(20):
        mixed = combine(cuts(problem, 4, int(rng.integers(1e6))), rng.dirichlet(np.ones(4)))
        w, b = rng.normal(size=5), rng.normal(size=problem.n_offsets)
        risk = problem.evaluate(w, b) - problem.alpha * problem.penalty.value(w)
        assert mixed.a @ w + mixed.e @ b + mixed.c <= risk + mixed.noise + mixed.spread * np.linalg.norm(w)


def test_rounding_of_a_mixture_is_counted_and_never_less_than_the_mean():
    problem = labels_problem()
    first, second = cuts(problem, 2)
    mixed = mix(first, second, 0.25)
    assert mixed.noise > 0.75 * first.noise + 0.25 * second.noise
    assert mixed.spread > 0.75 * first.spread + 0.25 * second.spread
    np.testing.assert_allclose(mixed.u, 0.75 * first.u + 0.25 * second.u)


def test_shares_that_do_not_add_up_are_paid_for():
    first, second = cuts(labels_problem(), 2)
    exact, short = (combine((first, second), np.array([0.5, share])) for share in (0.5, 0.4))
    size = 0.5 * abs(first.c) + 0.4 * abs(second.c)
    assert short.noise - exact.noise >= 0.09 * size


def test_evidence_of_a_mixture_is_the_weakest_of_its_parts():
    plane = Minorant(np.zeros(2), np.zeros(0), 0.0, "conjugate")
    cut = plane._replace(evidence="cuts")
    assert mix(plane, plane, 0.5).evidence == "conjugate"
    assert mix(plane, cut, 0.5).evidence == "cuts"
    assert mix(plane, cut, 0.0).evidence == "conjugate"  # of which it is no part
    assert not mix(plane, plane._replace(made=False), 0.5).made


def test_minorants_of_different_problems_cannot_be_mixed():
    (first,), (second,) = cuts(labels_problem(), 1), cuts(labels_problem(), 1)
    with pytest.raises(ContractError, match="different problems"):
        mix(first, second, 0.5)
    assert mix(first, second, 0.0).c == pytest.approx(first.c)  # nothing of the second


def test_shares_that_have_overflowed_are_no_mixture():
    with pytest.raises(ArithmeticError, match="share"):
        combine(cuts(labels_problem(), 2), np.array([np.nan, np.nan]))
