"""Names to objects: the only place where a string chooses."""

from functools import partial

import pytest

from gapfit import losses, penalties, registry
from gapfit.solvers.bundle import bundle


def test_what_is_an_object_already_is_left_as_it_is():
    loss, penalty, solver = losses.Quantile(0.9), penalties.L1(), partial(bundle, zero_plane=False)
    assert registry.as_loss(loss) is loss
    assert registry.as_penalty(penalty) is penalty
    assert registry.as_solver(solver) is solver


@pytest.mark.parametrize("name", registry.SOLVERS)
def test_a_solver_has_the_name_of_its_file(name):
    solver = registry.as_solver(name)
    assert solver.__name__ == name and solver.__module__ == f"gapfit.solvers.{name}"


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: registry.as_loss("hinges"), ValueError, "unknown loss 'hinges'; known are absolute"),
        (lambda: registry.as_loss(losses.Hinge), TypeError, r"write Hinge\(\)"),
        (lambda: registry.as_loss(3), TypeError, "a name or a Loss"),
        (lambda: registry.as_loss("precision_at_k"), TypeError, r"write PrecisionAtK\(\.\.\.\)"),
        (lambda: registry.as_penalty("l3"), ValueError, "unknown penalty 'l3'"),
        (lambda: registry.as_solver("simplex"), ValueError, "unknown solver"),
        (lambda: registry.as_solver(None), TypeError, "a name or a function"),
    ],
)
def test_what_is_unknown_is_refused_by_name(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_auto_is_a_word_and_nothing_that_only_compares_like_one():
    assert registry.is_auto("auto")
    assert not registry.is_auto(["auto"]) and not registry.is_auto(bundle)
