"""What a wrong name may have meant."""

import pytest

from gapfit.estimators.kernel_names import FUNCTIONS
from gapfit.metrics import NAMES
from gapfit.names import ELSEWHERE, meant
from gapfit.registry import LOSSES, PENALTIES, SOLVERS


def test_every_answer_is_a_name_of_ours():
    known = {*LOSSES, *PENALTIES, *SOLVERS, *NAMES, *FUNCTIONS}
    assert set(ELSEWHERE) <= known


@pytest.mark.parametrize(
    ("name", "known", "guess"),
    [
        ("log_loss", LOSSES, "logistic"),
        ("Log Loss", LOSSES, "logistic"),
        ("squared_hing", LOSSES, "squared_hinge"),
        ("elasticnet", PENALTIES, "elastic_net"),
        ("newton-cg", SOLVERS, "newton_cg"),
        ("least_squares", LOSSES, "squared"),  # a solver here, a loss there
        ("roc_auc", NAMES, "roc_area"),
    ],
)
def test_names_of_others_and_slips_of_the_pen(name, known, guess):
    assert meant(name, known) == f"; did you mean {guess!r}?"


def test_what_is_like_nothing_gets_no_guess():
    assert meant("xyzzy", LOSSES) == ""
