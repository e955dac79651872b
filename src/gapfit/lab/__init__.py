"""The papers behind gapfit, runnable: counter-examples, theorems that check themselves, figures, a race."""

from gapfit.lab.examples import Example as Example
from gapfit.lab.examples import f1 as f1
from gapfit.lab.examples import four_points as four_points
from gapfit.lab.examples import hadamard as hadamard
from gapfit.lab.examples import hadamard_matrix as hadamard_matrix
from gapfit.lab.examples import orthonormal as orthonormal
from gapfit.lab.examples import svm as svm
from gapfit.lab.runs import Trace as Trace
from gapfit.lab.runs import ls_bmrm as ls_bmrm
from gapfit.lab.runs import qp_bmrm as qp_bmrm
