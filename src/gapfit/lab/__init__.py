"""The papers behind gapfit, runnable: counter-examples, theorems that check themselves, figures, a race."""

from gapfit.lab.examples import Example, f1, four_points, hadamard, hadamard_matrix, orthonormal, svm
from gapfit.lab.runs import Trace, ls_bmrm, qp_bmrm

__all__ = ["Example", "Trace", "f1", "four_points", "hadamard", "hadamard_matrix", "ls_bmrm", "orthonormal"]
__all__ += ["qp_bmrm", "svm"]
