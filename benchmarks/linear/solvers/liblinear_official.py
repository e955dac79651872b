import numpy as np
from benchmark_utils.peer import Peer
from liblinear.liblinear import problem
from liblinear.liblinearutil import train
from scipy import sparse

TYPES = {  # -s
    ("hinge", "l2", True): 3,
    ("squared_hinge", "l2", True): 1,
    ("squared_hinge", "l2", False): 2,
    ("squared_hinge", "l1", False): 5,
    ("logistic", "l2", True): 7,
    ("logistic", "l2", False): 0,
    ("logistic", "l1", False): 6,
}


class Solver(Peer):
    """liblinear's own package. Only its tolerance can be set; a dual solver gives up after 300 epochs."""

    name = "liblinear-official"
    requirements = ["pip::liblinear-official"]
    sampling_strategy = "tolerance"
    parameters = {"dual": [True, False]}

    @property
    def takes(self):
        return {(loss, penalty): ("none",) for loss, penalty, dual in TYPES if dual == self.dual}

    def convert(self, X):
        return sparse.csr_matrix(X)

    def set_objective(self, **objective):
        super().set_objective(**objective)
        self.X = problem(self.y, self.X)

    def fit(self, X, y, tol):
        kind = TYPES[self.loss, self.penalty, self.dual]
        X = X if isinstance(X, problem) else problem(y, X)
        model = train(X, f"-s {kind} -c {self.C(y)!r} -e {tol!r} -B -1 -q")
        sign = 1.0 if model.get_labels()[0] == 1 else -1.0
        return sign * np.ctypeslib.as_array(model.w, (self.rows.shape[1],)), 0.0
