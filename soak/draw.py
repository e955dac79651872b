"""Problems drawn over all losses and penalties, tame and hostile. The same generator gives the same case."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gapfit.registry import LOSSES, PENALTIES
from soak import hostile
from soak.cases import CHAINS, Case
from soak.hostile import Rng, spread

MARGIN = (
    "hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential", "f_beta", "jaccard", "matthews",
    "error_rate", "balanced_accuracy", "precision_at_k", "recall_at_k", "lift", "precision_at_recall",
    "recall_at_precision", "break_even", "contingency", "roc_area", "partial_roc_area",
)  # fmt: skip
LEVELS = ["pairwise_ranking", "ordinal_pairs", "ordinal_thresholds", "ndcg", "mean_average_precision"]
CLASSES = ("crammer_singer", "softmax")
LABELS = ("hamming", "label_ranking", "macro_f", "micro_f")
TOGETHER = (*CLASSES, *LABELS, "quantiles")  # three scores a sample
# whose weights must be whole
COPIES = (
    "matthews", "precision_at_recall", "recall_at_precision", "contingency", "ndcg",
    "mean_average_precision",
)  # fmt: skip
_TOGETHER = {*MARGIN[5:], *LEVELS, *CLASSES, *LABELS}  # losses that are no means over samples, and classes
KERNEL = ("hinge", "squared_hinge", "epsilon_insensitive", "novelty", "logistic", "squared", "absolute")
_UNSHIFTED = {*LEVELS, *CHAINS}  # losses without an offset given by the user here


def draw(rng: Rng, loss: str | None = None, penalty: str | None = None) -> Case:
    """One problem."""
    loss = loss or str(rng.choice(list(LOSSES)))
    wounds = int(rng.choice([0, 0, 1, 1, 2, 3]))
    if loss in CHAINS:
        return _chain(rng, loss, wounds)
    n, d = hostile.shape(rng)
    if loss in _TOGETHER:
        n = min(max(n, 3), 12)  # they need several samples, and the judge writes all pairs and tables out
    elif loss in MARGIN:
        n = max(n, 2)
    y = _target(rng, loss, n)
    hurt = wounds > 0
    weight = hostile.weights(rng, n, hurt, loss in COPIES or rng.random() < 0.3)
    params = _loss_params(rng, loss, n if weight is None else float(weight.sum()))
    case = Case(
        hostile.matrix(rng, n, d, wounds),
        y,
        loss,
        params,
        alpha=float(spread(rng, -12, 6) if hurt and rng.random() < 0.6 else spread(rng, -5, 1)),
        weight=weight,
        intercept=bool(rng.random() < 0.6) or loss == "novelty",
        groups=rng.integers(0, 3, n) if loss in LEVELS and rng.random() < 0.5 else None,
    )
    if loss in KERNEL and penalty in (None, "l2") and rng.random() < 0.1:
        return case.but(X=hostile.psd_matrix(rng, n), layout="kernel")
    name = penalty or str(rng.choice(list(PENALTIES)))
    outputs = _outputs(case)
    case = case.but(penalty=name, penalty_params=penalty_params(rng, name, d * outputs))
    if loss not in _UNSHIFTED and rng.random() < 0.15:
        known = rng.normal(size=(n, outputs) if outputs > 1 else n) * spread(rng, -3, 3 if hurt else 0)
        case = case.but(offset=known)
    return _stored(rng, case)


def _stored(rng: Rng, case: Case) -> Case:
    """As float32 or CSR, some of the time."""
    if rng.random() < 0.2:
        with np.errstate(over="ignore"):
            case = case.but(X=case.X.astype(np.float32))
    return case.but(layout="csr") if rng.random() < 0.25 else case


def _target(rng: Rng, loss: str, n: int) -> np.ndarray:
    if loss in MARGIN:
        y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
        y[0], y[-1] = 1.0, -1.0
        return y
    if loss in LEVELS:
        y = rng.integers(0, 4, n).astype(float)
        y[0], y[-1] = 0.0, 3.0
        return y
    if loss in CLASSES:
        y = rng.integers(0, 3, n).astype(float)
        y[: min(n, 3)] = np.arange(min(n, 3))
        return y
    if loss in LABELS:
        Y = (rng.random((n, 3)) < 0.5).astype(float)
        Y[0], Y[-1] = [1, 0, 1], [0, 1, 0]
        return Y
    if loss == "poisson":
        return rng.poisson(spread(rng, -1, 4), n).astype(float) + (np.arange(n) == 0)
    if rng.random() < 0.3:
        return rng.normal(size=n) * spread(rng, -6, 8) + rng.normal() * spread(rng, -6, 8)
    return rng.normal(size=n)


def cohen(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """1 - Cohen's kappa, linear on diagonals."""
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return 1 - ((tp + tn) / n - chance) / (1 - chance)


def jagged(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Nothing is known of this one."""
    return 0.1 * np.sin(3 * tp + 5 * fp) + (fp + 2 * fn) / (tp + fp + fn + tn)


def _loss_params(rng: Rng, loss: str, mass: float) -> dict[str, Any]:
    k = {"k": float(mass * rng.uniform(0.1, 0.9)) if rng.random() < 0.5 else float(np.ceil(mass / 3))}
    draws: dict[str, Callable[[], dict[str, Any]]] = {
        "smoothed_hinge": lambda: {"gamma": float(spread(rng, -3, 1))},
        "quantiles": lambda: {
            "quantiles": np.sort(rng.uniform(0.01, 0.99, 3)).tolist(),
            "crossing": float(rng.choice([0.0, 1.0, 10.0, 1e3])),
        },
        "quantile": lambda: {"q": float(rng.uniform(0.01, 0.99))},
        "epsilon_insensitive": lambda: {"epsilon": float(rng.choice([0.0, 0.1, 1.0]))},
        "squared_epsilon_insensitive": lambda: {"epsilon": float(rng.choice([0.0, 0.1, 1.0]))},
        "huber": lambda: {"delta": float(spread(rng, -3, 2))},
        "scaled_huber": lambda: {"epsilon": float(1.0 + spread(rng, -2, 2))},
        "novelty": lambda: {"nu": float(rng.uniform(0.05, 1.0))},
        "f_beta": lambda: {"beta": float(spread(rng, -1, 1)), "score_weight": float(rng.choice([1.0, 2.5]))},
        "precision_at_k": lambda: k,
        "recall_at_k": lambda: k,
        "lift": lambda: k,
        "precision_at_recall": lambda: {"floor": float(rng.choice([0.3, 0.6, 1.0]))},
        "recall_at_precision": lambda: {"floor": float(rng.choice([0.3, 0.5, 0.79]))},
        "contingency": lambda: [{"f": cohen, "structure": "linear"}, {"f": jagged}][rng.integers(2)],
        "partial_roc_area": lambda: {"max_fpr": float(rng.uniform(0.05, 1.0))},
        "pairwise_ranking": lambda: {"mean": str(rng.choice(["pairs", "queries"]))},
        "ordinal_thresholds": lambda: {
            "kind": str(rng.choice(["all", "immediate"])),
            "base": str(rng.choice(["hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential"])),
        },
        "ndcg": lambda: {"k": [None, 2, 10][rng.integers(3)]},
        "crammer_singer": lambda: {"rescaling": str(rng.choice(["margin", "slack"])), "n_classes": 3},
        "softmax": lambda: {"n_classes": 3},
        "macro_f": lambda: {"beta": float(spread(rng, -1, 1))},
        "micro_f": lambda: {"beta": float(spread(rng, -1, 1))},
    }
    return draws.get(loss, dict)()


def penalty_params(rng: Rng, name: str, d: int) -> dict[str, Any]:
    """Parameters of a penalty of d weights."""
    if name == "elastic_net":
        return {"l1_ratio": float(rng.choice([0.01, 0.3, 0.5, 0.99]))}
    if name == "squared_lp":
        return {"p": float(rng.choice([1.01, 1.1, 1.5, 1.9, 2.0]))}
    if name == "quadratic_form":
        A = rng.normal(size=(d, d))
        Q = A @ A.T + np.eye(d)
        scale = spread(rng, -3, 3, d) if rng.random() < 0.3 else np.ones(d)
        Q = Q * scale * scale[:, None]
        return {"Q": 0.5 * (Q + Q.T)}
    if name == "group_lasso":
        groups = rng.integers(0, int(rng.integers(1, 4)), d)
        weights = spread(rng, -2, 2, len(np.unique(groups))) if rng.random() < 0.5 else None
        return {"groups": groups, "weights": weights, "ratio": float(rng.choice([1.0, 1.0, 0.99, 0.5, 0.01]))}
    if name == "constrained":
        inner, m = str(rng.choice(["l2", "quadratic_form"])), int(rng.integers(1, 7))
        A = rng.normal(size=(m, d)) * spread(rng, -3, 3, m)[:, None] * (rng.random((m, d)) < 0.7)
        room = np.abs(A).sum(axis=1) * spread(rng, -3, 0, m) + 1e-3
        b = A @ (rng.normal(size=d) * spread(rng, -3, 1)) + room
        return {"inner": (inner, penalty_params(rng, inner, d)), "A": A, "b": b}
    if name == "box":
        inner = str(rng.choice(["l2", "l1", "elastic_net", "entropy"]))
        lo, hi = [(0.0, np.inf), (-0.1, 0.1), (0.0, 1.0), (-1.0, np.inf)][rng.integers(4)]
        return {"inner": (inner, penalty_params(rng, inner, d)), "lo": lo, "hi": hi}
    return {}


def _outputs(case: Case) -> int:
    return 3 if case.loss in TOGETHER else 1


def _chain(rng: Rng, loss: str, wounds: int) -> Case:
    """A few short chains of two or three labels."""
    K, lengths = int(rng.integers(2, 4)), rng.integers(1, 5, int(rng.integers(1, 4)))
    tokens, d = int(lengths.sum()), int(rng.integers(1, 4))
    groups = np.repeat(np.arange(len(lengths)), lengths)
    params: dict[str, Any] = {"labels": K}
    if loss == "chain_margin" and rng.random() < 0.3:
        params["rescale"] = "slack"
    weight = None if rng.random() < 0.5 else spread(rng, -3, 3, len(lengths))[groups]
    name = str(rng.choice(["l2", "l2", "elastic_net", "l1"]))
    return Case(
        hostile.matrix(rng, tokens, d, wounds),
        rng.integers(0, K, tokens).astype(float),
        loss,
        params,
        name,
        penalty_params(rng, name, d),
        float(spread(rng, -5, 1)),
        weight,
        intercept=False,
        groups=groups,
        layout="chain",
    )
