"""How often each solver calls the oracle of a structure until a relative gap of 1e-3 is certified.

    python benchmarks/structured_calls.py

Twelve generated problems: four structures, three alphas each. Calls are per sample, those of certificates
included; seconds are the CPU's.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapfit import StructuredClassifier
from gapfit.structures import Assignment, Labels, LabelSequence, LabelTree

TOL = 1e-3
LIMIT = 15.0  # seconds


def tree(rng):
    x, W = rng.normal(size=(200, 20)), rng.normal(size=(20, 6))
    y = (x @ W + 2 * rng.normal(size=(200, 6)) > 0).astype(int)
    return LabelTree(6, [(k, k + 1) for k in range(5)]), x, y


def assignment(rng):
    structure, w = Assignment(), rng.normal(size=6)
    X = list(rng.normal(size=(60, 5, 5, 6)))
    return structure, X, [structure.argmax(x + 0.8 * rng.normal(size=x.shape), w) for x in X]


def labels(rng):
    x, W = rng.normal(size=(400, 30)), rng.normal(size=(30, 5))
    return Labels(5), x, (x @ W + 3 * rng.normal(size=(400, 5))).argmax(axis=1)


def sequence(rng):
    W = rng.normal(size=(12, 5))
    X = [rng.normal(size=(int(n), 12)) for n in rng.integers(3, 12, 60)]
    return LabelSequence(5), X, [(x @ W + 3 * rng.normal(size=(len(x), 5))).argmax(axis=1) for x in X]


def calls(structure, X, y, alpha, solver):
    asked = 0
    oracle = structure.loss_augmented_argmax

    def counted(*given):
        nonlocal asked
        asked += 1
        return oracle(*given)

    structure.loss_augmented_argmax = counted
    began = time.process_time()
    model = StructuredClassifier(structure, alpha=alpha, solver=solver, tol=TOL, max_time=LIMIT).fit(X, y)
    seconds = time.process_time() - began
    structure.loss_augmented_argmax = oracle
    certified = "" if model.converged_ else f" (gap {model.certificates_[0].relative_gap:.0e})"
    return f"{asked / len(X):.0f}{certified} | {seconds:.2f}"


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| structure | alpha n | bundle: calls | seconds | block_frank_wolfe: calls | seconds |")
    print("|---|---|---|---|---|---|")
    for make in (tree, assignment, labels, sequence):
        structure, X, y = make(np.random.default_rng(0))
        for alpha in (0.1, 0.01, 0.001):
            told = [calls(structure, X, y, alpha, solver) for solver in ("bundle", "block_frank_wolfe")]
            name = type(structure).__name__
            print(f"| {name} | {alpha * len(X):g} | {' | '.join(told)} |", flush=True)
