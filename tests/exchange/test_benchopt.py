"""The solvers for benchopt's benchmarks run there, and reach the minimum of what those minimise."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from house import ROOT

pytest.importorskip("benchopt")
pytestmark = pytest.mark.slow

FOLDER = ROOT / "benchmarks" / "benchopt"
DATA = """
import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "small"

    def get_data(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 5))
        t = X @ [1.0, -1.0, 0.0, 0.5, 0.0] + rng.normal(size=40)
        return dict(X=X, y={target})
"""
OBJECTIVE = """
import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "small"
    sampling_strategy = "tolerance"

    def set_data(self, X, y):
        self.X, self.y = X, y

    def get_one_result(self):
        return dict(beta=np.zeros({size}))

    def evaluate_result(self, beta):
        X, y, w = self.X, self.y, beta[:5]
        f = X @ w + ({intercept})
        return dict(value={value})

    def get_objective(self):
        return dict(X=self.X, y=self.y, {given})
"""
# what is minimised, whether y holds labels, and what the solver is told
LASSO = "0.5 * np.sum((y - f) ** 2) + 2.0 * np.abs(w).sum()"
PINBALL = "np.mean(np.maximum(0.7 * (y - f), -0.3 * (y - f))) + 0.02 * np.abs(w).sum()"
CASES = {
    "lasso": (LASSO, False, {"lmbd": 2.0, "fit_intercept": True}),
    "logreg_l2": ("np.sum(np.logaddexp(0, -y * f)) + 1.5 / 2 * np.sum(w**2)", True, {"lmbd": 1.5}),
    "linear_svm": ("0.5 * np.sum(w**2) + 0.3 * np.sum(np.maximum(0, 1 - y * f))", True, {"C": 0.3}),
    "quantile_regression": (PINBALL, False, {"lmbd": 0.02, "quantile": 0.7, "fit_intercept": True}),
}


def test_every_solver_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_it_runs_in_a_benchmark_of_that_form(name, tmp_path):
    value, labels, told = CASES[name]
    free = "fit_intercept" in told
    for folder in ("datasets", "solvers"):
        (tmp_path / folder).mkdir()
    given = ", ".join(f"{key}={what!r}" for key, what in told.items())
    parts = {"value": value, "given": given, "intercept": "beta[5]" if free else "0.0", "size": 5 + free}
    (tmp_path / "objective.py").write_text(OBJECTIVE.format(**parts))
    target = "np.where(t > 0, 1.0, -1.0)" if labels else "t + 1"
    (tmp_path / "datasets" / "small.py").write_text(DATA.format(target=target))
    (tmp_path / "solvers" / "gapfit.py").write_text((FOLDER / f"{name}.py").read_text())
    command = [sys.executable, "-m", "benchopt", "run", str(tmp_path), "-s", "gapfit", "-n", "60", "-r", "1"]
    run = subprocess.run(
        [*command, "--no-plot", "--no-html", "--no-display", "--output", "found"],
        capture_output=True, text=True, cwd=tmp_path, timeout=240,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    import pandas as pd

    (found,) = tmp_path.glob("outputs/found*.parquet")
    reached = pd.read_parquet(found)["objective_value"].min()
    assert reached <= _least(value, labels, free) * (1 + 1e-5)


def _least(value, labels, free):
    """The minimum by a method that knows nothing of gapfit: several descents without derivatives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    t = X @ [1.0, -1.0, 0.0, 0.5, 0.0] + rng.normal(size=40)
    y = np.where(t > 0, 1.0, -1.0) if labels else t + 1
    terms = compile(value, "value", "eval")

    def objective(beta):
        w = beta[:5]
        return eval(terms, {"np": np, "y": y, "f": X @ w + (beta[5] if free else 0.0), "w": w})

    beta = np.zeros(5 + free)
    for _ in range(8):
        beta = minimize(objective, beta, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14}).x
        beta = minimize(objective, beta, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).x
    return objective(beta)
