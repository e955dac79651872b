"""The losses and penalties, with parameters, whose product the tests run over. Plain data."""

import numpy as np

# name in the registry: parameters
LOSSES = {
    "hinge": {},
    "squared_hinge": {},
    "smoothed_hinge": {"gamma": 1.0},
    "logistic": {},
    "exponential": {},
    "squared": {},
    "absolute": {},
    "quantile": {"q": 0.3},
    "epsilon_insensitive": {"epsilon": 0.1},
    "squared_epsilon_insensitive": {"epsilon": 0.1},
    "huber": {"delta": 1.0},
    "poisson": {},
    "novelty": {"nu": 0.3},
}

# what y holds: labels -1 and +1, real numbers, counts, or nothing that matters
TARGETS = {
    **dict.fromkeys(("hinge", "squared_hinge", "smoothed_hinge"), "labels"),
    **dict.fromkeys(("logistic", "exponential"), "labels"),
    **dict.fromkeys(("squared", "absolute", "quantile", "huber"), "real"),
    **dict.fromkeys(("epsilon_insensitive", "squared_epsilon_insensitive"), "real"),
    "poisson": "counts",
    "novelty": "none",
}


def _box(inner, lo, hi, **inner_params):
    return {"inner": inner, "inner_params": inner_params, "lo": lo, "hi": hi}


def _constrained(d, inner, **inner_params):
    A = np.vstack([np.eye(d) - np.eye(d, k=1), -np.ones(d)])
    return {"inner": inner, "inner_params": inner_params, "A": A, "b": np.linspace(0.1, -0.05, d + 1)}


# name in the registry, for boxes with the inner penalty in brackets: parameters, given d
PENALTIES = {
    "l2": lambda d: {},
    "quadratic_form": lambda d: {"Q": np.diag(np.linspace(0.5, 2.0, d)) + 0.3},
    "squared_lp": lambda d: {"p": 1.5},
    "entropy": lambda d: {},
    "simplex_entropy": lambda d: {},
    "l1": lambda d: {},
    "elastic_net": lambda d: {"l1_ratio": 0.5},
    "group_lasso": lambda d: {"groups": np.arange(d) // 2},
    "group_lasso(ratio)": lambda d: {"groups": np.arange(d) % 2, "ratio": 0.5},
    "constrained(l2)": lambda d: _constrained(d, "l2"),
    "constrained(quadratic_form)": lambda d: _constrained(d, "quadratic_form", Q=np.eye(d) + 0.3),
    "box(l2)": lambda d: _box("l2", -0.5, 0.5),
    "box(l1)": lambda d: _box("l1", np.linspace(-1.0, 0.0, d), np.linspace(0.2, 2.0, d)),
    "box(elastic_net)": lambda d: _box("elastic_net", 0.0, np.inf, l1_ratio=0.5),
    "box(entropy)": lambda d: _box("entropy", np.linspace(0.0, 0.3, d), 1.5),
}

UNBOUNDED = {("novelty", "l1"), ("novelty", "group_lasso")}  # may have no minimum
PAIRS = [(loss, pen) for loss in LOSSES for pen in PENALTIES if (loss, pen) not in UNBOUNDED]


def registry_name(penalty: str) -> str:
    """The name in the registry: "box" for "box(l1)"."""
    return penalty.partition("(")[0]


def targets(loss, n=12, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "labels": lambda: np.where(np.arange(n) % 3 == 0, 1.0, -1.0),
        "real": lambda: rng.normal(size=n),
        "counts": lambda: rng.poisson(2.0, n).astype(float),
        "none": lambda: np.zeros(n),
    }[TARGETS[loss]]()
