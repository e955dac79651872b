"""What all solvers of this benchmark share: one function `fit`, told how long to go on."""

import warnings

import numpy as np
from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning

LITTLE = 1e-12  # a tolerance that stops nobody, where zero is refused
MANY = 1_000_000  # iterations that stop nobody


class Peer(BaseSolver):
    """A solver writes `fit(X, y, stop) -> w, b`, and says what it takes.

    `stop` is a number of iterations or a tolerance, as `sampling_strategy` says; those with `both_knobs` take
    an int as the one and a float as the other. X arrives as `convert` made it, which is not timed: peers are
    handed the data in the format they like best.
    """

    both_knobs = False  # say True where iterations alone are unfair, because the tolerance steers them

    takes = {}  # (loss, penalty) -> the kinds of intercept
    most_features = np.inf  # beyond, it needs a matrix that fits nowhere
    most_entries = np.inf  # beyond, it is hopeless: a method for small problems

    def skip(self, X, y, loss, penalty, alpha, intercept, q):
        if intercept not in self.takes.get((loss, penalty), ()):
            return True, f"does not minimise {loss} + {penalty}, intercept {intercept}"
        if X.shape[1] > self.most_features:
            return True, f"{X.shape[1]} columns: would need a matrix of their square"
        if X.shape[0] * X.shape[1] > self.most_entries:
            return True, f"{X.shape[0]} x {X.shape[1]} is too large for it"
        return False, None

    def set_objective(self, X, y, loss, penalty, alpha, intercept, q):
        self.loss, self.penalty, self.alpha, self.intercept, self.q = loss, penalty, alpha, intercept, q
        self.rows, self.X, self.y = X, self.convert(X), y
        self.w, self.b = np.zeros(X.shape[1]), 0.0

    def convert(self, X):
        return X

    def fit(self, X, y, stop):
        raise NotImplementedError

    def limits(self, stop):
        """Iterations and tolerance, only one of which bites."""
        return (MANY, stop) if isinstance(stop, float) else (stop, LITTLE)

    def C(self, y):
        """The factor of the sum of losses beside a penalty without one."""
        return 1.0 / (self.alpha * len(y))

    def warm_up(self):
        """A first call on a few samples of each class: what is compiled or loaded then is not timed.

        It is a real fit, to the end and with some weights that are not zero: there is code that is compiled
        only when it has something to do.
        """
        some = np.unique(
            np.concatenate([np.flatnonzero(self.y > 0)[:100], np.flatnonzero(self.y <= 0)[:100]])
        )
        alpha, self.alpha = self.alpha, self.alpha / 10
        with quiet():
            self.fit(self.convert(self.rows[some]), self.y[some], 100 if self.counts() else 1e-6)
        self.alpha = alpha

    def counts(self):
        return self.sampling_strategy == "iteration"

    def run(self, stop):
        if self.counts() and stop == 0:
            return  # w = 0
        with quiet():
            self.w, self.b = self.fit(self.X, self.y, stop)

    def get_result(self):
        return dict(w=np.ravel(self.w).astype(float), b=float(np.ravel(self.b)[0]), bound=self.bound())

    def bound(self):
        """A proved lower bound of the minimum, if the solver has one."""
        return None

    def history(self):
        """Pairs of seconds and certified relative gaps, if the solver keeps them."""
        return []


class quiet(warnings.catch_warnings):  # noqa: N801
    """Runs that are stopped early say so, and shall not here."""

    def __enter__(self):
        super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
